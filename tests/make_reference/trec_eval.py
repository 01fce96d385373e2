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


def main() -> None:
    cases = []
    for version, program in zip(("9", "10"), sys.argv[1:], strict=True):
        for options in [*BOTH, *ONLY[version]]:
            command = [program, *options.split(), str(FOLDER / "small.qrels"), str(FOLDER / "small.run")]
            ran = subprocess.run(command, capture_output=True, check=False)
            cases.append(
                {
                    "version": version,
                    "options": options,
                    "output": ran.stdout.decode(),
                    "code": ran.returncode,
                }
            )
    path = FOLDER / "trec_eval.json"
    path.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
