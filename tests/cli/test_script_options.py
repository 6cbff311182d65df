import pytest

from paceline.cli.script_options import find_module, options_of

SOURCES = {
    "argparse": "import argparse\np = argparse.ArgumentParser()\np.add_argument('-s', '--seed', type=int)\n",
    "click": "import click\n@click.option('--seed/--no-seed')\ndef main(seed): ...\n",
    "sys.argv": "import sys\nif '--seed' in sys.argv: ...\n",
    "absl": "from absl import flags\nflags.DEFINE_integer('seed', 0, 'the seed')\n",
    "docopt": '"""Usage: x [options]\n\nOptions:\n  --seed=N  the seed\n"""\nfrom docopt import docopt\n',
    "typer": "import typer\ndef main(seed: int = 0): ...\ntyper.run(main)\n",
    "tyro": "import dataclasses, tyro\n@dataclasses.dataclass\nclass Config:\n    seed: int = 0\n",
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_an_option_is_found_however_it_is_made(tmp_path, source):
    path = tmp_path / "train.py"
    path.write_text(source)
    assert "--seed" in options_of(str(path), False, [])


@pytest.mark.parametrize(
    "source",
    [
        '"""Run it with: paceline run train.py --workers 2"""\n',
        "# --workers\n",
        "print('use --workers')\n",
        "def f(workers): ...\n",
        "'unterminated --workers",
        "\0",
        "",
    ],
)
def test_prose_and_broken_files_have_no_options(tmp_path, source):
    path = tmp_path / "train.py"
    path.write_text(source)
    assert "--workers" not in options_of(str(path), False, [])


def test_names_are_found_in_both_spellings(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("import fire\ndef main(run_dir='x'): ...\n")
    assert {"--run_dir", "--run-dir"} <= options_of(str(path), False, [])


def test_modules_beside_the_script_are_searched_too(tmp_path):
    (tmp_path / "train.py").write_text("from settings.cli import parse\nimport missing\n")
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "__init__.py").write_text("")
    (tmp_path / "settings" / "cli.py").write_text("from . import more\nfrom train import x\n")
    (tmp_path / "settings" / "more.py").write_text("o = '--seed'\n")
    assert options_of(str(tmp_path / "train.py"), False, []) == {"--seed"}


def test_a_module_is_found_without_importing_its_package(tmp_path):
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    (package / "train.py").write_text("o = '--seed'\n")
    (package / "__main__.py").write_text("from pkg import train\n")
    assert find_module("pkg.train", [tmp_path]) == package / "train.py"
    assert options_of("pkg.train", True, [tmp_path]) == {"--seed"}
    assert options_of("pkg", True, [tmp_path]) == {"--seed"}
    assert options_of(str(package), False, []) == set()


@pytest.mark.parametrize("name", ["", ".", "...", "no.such", "a b", "/etc/passwd"])
def test_a_module_that_is_not_there_has_no_options(tmp_path, name):
    assert options_of(name, True, [tmp_path]) == set()
