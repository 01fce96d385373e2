"""Run trec_eval on the small files: ``python tests/make_reference/trec_eval.py PATH_OF_9 PATH_OF_10``.

Build both from https://github.com/usnistgov/trec_eval, tags v9.0.8 and v10.0, with ``make``. What 10.0
prints for rbp is left out: it reads memory that it never set.
"""

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "conventions"
BOTH = [
    "-c",
    "-c -q -m official -m P.2,1 -m recall.1 -m ndcg.1=3,2=9 -m Rndcg.2=1 -m G -m ndcg_rel.12=4",
    "-c -q -l 2 -m map -m bpref -m gm_bpref -m infAP -m relstring.3 -m set_F.0.5 -m 11pt_avg.0.2,0.5,0.8",
    "-cqn -m set -M 2 -m Rprec_mult.0.5,1,3.5 -m success.2 -m relative_P.2,4 -m map_cut.3 -m ndcg_cut.3",
    "-c -m iprec_at_recall.0.33,.5,.67 -m utility.2,-1,-3,.5 -N 90 -m num_nonrel_judged_ret",
    "-c -J -l 2 -m P.1 -m num_ret -m num_nonrel_judged_ret -m relstring -q",
    "-c -q -m iprec_at_recall -m runid.1 -m num_q -m binG -m yaap -m ndcg",
]
ONLY = {
    "9": ["", "-m all_trec", "-q -m map -m relstring"],
    "10": [
        "-c -q -m unj -m unj.1,4 -m rbp_resid",
        "-c -q -m rbp_resid.p=.5 -m utility.1,2,3,0 -m dcg",
        "-c -q -m ideal_dcg.1=2",
    ],
}


SMALL = ("small.qrels", "small.run")
OTHERS = {
    ("small.prefs", "small.run"): [
        "-c -q -R prefs -m all_prefs",
        "-c -R prefs -m prefs -M 2",
        "-c -q -R prefs -m prefs_pair_imp -m prefs_avgjg_Rnonrel -l 9 -J -N 4",
    ],
    ("small.judges", "small.run"): [
        "-c -q -R qrels_jg -m qrels_jg",
        "-c -q -R qrels_jg -m map_avgjg -m P_avgjg.3,1 -m Rprec_mult_avgjg.0.5,2 -l 2 -J",
        "-c -R qrels_jg -m qrels_jg -M 2",
        "-c -q -R qrels_prefs -m all_prefs",
        "-c -R qrels_prefs -m prefs_simp -M 0",
    ],
    SMALL: ["-c -q -Z small.zscores -m all_trec -m yaap", "-c -n -q -Z small.zscores -M 1"],
}


def main() -> None:
    cases = []
    for version, program in zip(("9", "10"), sys.argv[1:], strict=True):
        commands = [(SMALL, options) for options in [*BOTH, *ONLY[version]]]
        commands += [(files, options) for files, several in OTHERS.items() for options in several]
        for files, options in commands:
            command = [program, *options.split(), *files]
            ran = subprocess.run(command, capture_output=True, check=False, cwd=FOLDER)
            lines = ran.stdout.decode().splitlines(keepends=True)
            cases.append(
                {
                    "version": version,
                    "options": options,
                    "files": files,
                    "output": "".join(line for line in lines if not line.startswith(("rbp ", "Zrbp "))),
                    "code": ran.returncode,
                }
            )
    path = FOLDER / "trec_eval.json"
    path.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
