"""tools/check_site.py finds broken links, and what is loaded from another host."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

FILE = Path(__file__).parents[1] / "tools" / "check_site.py"


def faults(site: Path) -> list[str]:
    spec = spec_from_file_location("check_site", FILE)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.faults(site)


def test_a_good_site_has_no_faults(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#here">b</a> <a href="https://x.y">x</a>')
    (tmp_path / "b.html").write_text('<p id="here"></p><img src="p.svg">')
    (tmp_path / "p.svg").write_text("<svg/>")
    assert faults(tmp_path) == []


def test_faults_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="gone.html">a</a> <a href="#nowhere">b</a>')
    (tmp_path / "b.html").write_text('<script src="https://other.host/x.js"></script>')
    (tmp_path / "c.css").write_text("@import url(https://other.host/font.css);")
    found = faults(tmp_path)
    assert len(found) == 4
    for part in ("gone.html", "#nowhere", "x.js", "c.css"):
        assert any(part in fault for fault in found)
