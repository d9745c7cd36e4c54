"""Tables in Markdown."""


def ratio(first, second):
    return None if first is None or not second else first / second


def number(value, unit, digits=0):
    return "" if value is None else f"{value:,.{digits}f} {unit}".strip()


def met_word(met):
    """`met`: None when it was not measured, or there is no target."""
    return {True: "met", False: "MISSED", None: ""}[met]


def print_table(rows):
    """Of rows (what, etcd's, kvorum's, ratio, target, met)."""
    print("\n| | etcd | kvorum | ratio | target | |\n| --- | ---: | ---: | ---: | ---: | --- |")
    for what, peer, ours, result, target, met in rows:
        print(f"| {what} | {peer} | {ours} | {result} | {target} | {met_word(met)} |")
    print("\nServer CPU per call and latency of each measure: the lines above. Medians of the rounds.")
