import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_what_the_table_says():
    spec = importlib.util.spec_from_file_location("failures_page", ROOT / "scripts" / "failures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (ROOT / "docs" / "failures.md").read_text(encoding="utf-8") == module.page(), "python scripts/failures.py"
