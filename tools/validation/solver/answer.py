"""Answers questions in SMT-LIB with the solver bitwuzla, and with cvc5 where bitwuzla takes too long.

Its first line of output names the solvers. A question on standard input is a line with the number of its bytes, then these
bytes: declarations and assertions. The answer is a line: sat, unsat, unknown, or what is wrong with the question.
"""

import subprocess
import sys

import bitwuzla

# Who is asked, one after the other, and how long, in milliseconds. Most questions take bitwuzla 20; of those that take it long,
# most take cvc5 less than a second, and some more than a minute.
TURNS = (("bitwuzla", 1_000), ("cvc5", 10_000), ("bitwuzla", 20_000), ("cvc5", 300_000))


def by_bitwuzla(question, longest):
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.TIME_LIMIT_PER, longest)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse(question, True, False)
    return str(parser.bitwuzla().check_sat())


def by_cvc5(question, longest):
    command = ["cvc5", "--quiet", "--lang=smt2", f"--tlimit={longest}", "-"]
    ran = subprocess.run(command, input=question + "(check-sat)\n", capture_output=True, text=True, check=False)
    answer = ran.stdout.strip()
    return answer if answer in ("sat", "unsat") else "unknown"


def answer(question):
    question = "(set-logic QF_AUFBV)\n" + question
    for solver, longest in TURNS:
        ask = by_bitwuzla if solver == "bitwuzla" else by_cvc5
        said = ask(question, longest)
        if said != "unknown":
            break
    return said


def main():
    version = subprocess.run(["cvc5", "--version"], capture_output=True, text=True, check=True).stdout.split()
    print(f"bitwuzla {bitwuzla.version()} and cvc5 {version[version.index('version') + 1]}", flush=True)
    source = sys.stdin.buffer
    while line := source.readline():
        question = source.read(int(line)).decode()
        try:
            said = answer(question)
        except bitwuzla.BitwuzlaException as fault:
            said = " ".join(str(fault).split())
        print(said, flush=True)


main()
