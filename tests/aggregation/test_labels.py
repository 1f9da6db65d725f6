"""Labels against labels, and corrected rates: by hand, published figures, independent code."""

from __future__ import annotations

import numpy as np
import pytest

from areopagus.aggregation.agreement import krippendorff_alpha
from areopagus.aggregation.labels import (
    Labels,
    against_one_person,
    best_cut,
    corrected_rate,
    label_agreement,
    people_agreement,
    vote_counts,
)
from areopagus.aggregation.proportions import wilson

YES_NO = ("no", "yes")


def of_table(table: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """The machine's codes and one person's votes of a table, rows people's labels."""
    cells = [
        (row, column)
        for row, counts in enumerate(table)
        for column, n in enumerate(counts)
        for _ in range(n)
    ]
    people, machine = np.array(cells).T
    return machine, np.eye(len(table))[people]


def test_agreement_of_a_table_is_that_computed_by_hand() -> None:
    machine, votes = of_table([[20, 5], [10, 15]])
    found = label_agreement(machine, votes, range(50), YES_NO)
    assert found.table.tolist() == [[20, 5], [10, 15]]
    assert found.figures["accuracy"].value == pytest.approx(35 / 50)
    # by chance .5 x .6 + .5 x .4 = .5
    assert found.figures["kappa"].value == pytest.approx(0.4)
    assert found.recall["yes"].value == pytest.approx(15 / 25)
    assert found.recall["no"].value == pytest.approx(20 / 25)
    assert found.precision["yes"].value == pytest.approx(15 / 20)


def test_kappa_of_gwets_table_of_a_rare_label_is_the_published_one() -> None:
    # Gwet (2002), Kappa statistic is not satisfactory: kappa -.0234.
    machine, votes = of_table([[118, 5], [2, 0]])
    found = label_agreement(machine, votes, range(125), YES_NO).figures
    assert found["kappa"].value == pytest.approx(-0.0234, abs=5e-5)


def test_kappa_of_three_labels_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(4)
    people, machine = rng.integers(0, 3, 80), rng.integers(0, 3, 80)
    machine[:40] = people[:40]
    found = label_agreement(machine, np.eye(3)[people], range(80), ("a", "b", "c"))
    metrics = pytest.importorskip("sklearn.metrics")
    assert found.figures["kappa"].value == pytest.approx(metrics.cohen_kappa_score(people, machine))
    recalls = metrics.recall_score(people, machine, average=None)
    assert [found.recall[name].value for name in "abc"] == pytest.approx(recalls)


def test_alpha_of_people_is_the_published_one_and_that_of_the_other_implementation() -> None:
    # Krippendorff's four observers and twelve units; nominal alpha .743, published.
    rows = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    table = np.array([[np.nan if x is None else x for x in row] for row in rows])
    rater, unit = np.nonzero(np.isfinite(table))
    votes = vote_counts(unit, table[rater, unit] - 1, 12, 5)
    found = people_agreement(votes, range(12))
    assert found["alpha"].value == pytest.approx(0.743, abs=5e-4)
    assert found["alpha"].value == pytest.approx(krippendorff_alpha(table))
    with_two = votes[votes.sum(axis=1) > 1]
    m = with_two.sum(axis=1)
    same = (with_two * (with_two - 1)).sum(axis=1) / (m * (m - 1))
    assert found["agreement"].value == pytest.approx(same.mean())


def test_a_share_over_single_items_has_wilsons_interval_but_for_its_quantile() -> None:
    machine, votes = of_table([[400, 100], [100, 400]])
    found = label_agreement(machine, votes, range(1000), YES_NO).figures["accuracy"]
    plain = wilson(800, 1000)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=1e-4)


def test_an_interval_over_prompts_is_wider_than_one_over_items_that_are_alike() -> None:
    people = np.repeat(np.arange(40) % 2, 5)
    machine = np.where(np.repeat(np.arange(40) % 5 == 0, 5), 1 - people, people)
    one = label_agreement(machine, np.eye(2)[people], range(200), YES_NO)
    alike = label_agreement(machine, np.eye(2)[people], np.repeat(np.arange(40), 5), YES_NO)
    for name in ("accuracy", "kappa"):
        apart, together = one.figures[name], alike.figures[name]
        assert apart.value == together.value
        assert together.high - together.low > 1.9 * (apart.high - apart.low)
        assert (together.n, together.unit) == (40, "prompt")


def test_people_of_an_item_count_as_parts_of_it() -> None:
    # three people: two say yes and one no, twice; the machine says yes and no
    found = label_agreement([1, 0], [[1, 2], [1, 2]], [0, 1], YES_NO)
    assert found.table == pytest.approx(np.array([[1 / 3, 1 / 3], [2 / 3, 2 / 3]]))
    assert found.figures["accuracy"].value == pytest.approx(0.5)
    assert found.figures["accuracy"].reason == "an interval needs 6 prompts, there are 2"


def test_items_that_one_side_lacks_do_not_count_and_are_counted() -> None:
    found = label_agreement([1, -1, 0, 1], [[0, 1], [1, 0], [0, 0], [0, 1]], range(4), YES_NO)
    assert (found.n_items, found.n_unlabelled) == (2, 1)
    assert found.recall["no"].reason == "people give this label to no item"


def test_one_person_is_held_against_the_others_one_by_one() -> None:
    votes = np.array([[1, 2], [3, 0], [0, 3], [2, 1], [2, 0], [1, 1], [0, 1], [1, 2]], dtype=float)
    machine = np.array([1, 0, 1, 1, 0, 0, 1, 0])
    found = against_one_person(machine, votes, range(8))
    of_one, of_machine = [], []
    for item, (n_no, n_yes) in enumerate(votes):
        labels = [0] * int(n_no) + [1] * int(n_yes)
        if len(labels) < 2:
            continue
        mine = []
        for k, own in enumerate(labels):
            others = labels[:k] + labels[k + 1 :]
            mine.append((np.mean([own == x for x in others]),
                         np.mean([machine[item] == x for x in others])))  # fmt: skip
        of_one.append(np.mean([a for a, _ in mine]))
        of_machine.append(np.mean([b for _, b in mine]))
    two = votes[votes.sum(axis=1) > 1]
    person, other = (two / two.sum(axis=1)[:, None]).mean(axis=0), machine[votes.sum(axis=1) > 1]
    for name, right, mine in (
        ("of_one", of_one, person),
        ("of_machine", of_machine, [1 - other.mean(), other.mean()]),
    ):
        by_chance = float(person @ mine)
        kappa = (np.mean(right) - by_chance) / (1 - by_chance)
        assert found[name].value == pytest.approx(kappa), name


def people_and_machine(
    n: int, error: float, seed: int, *, share: float = 0.3
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Prompts of five items, three people who err on .15, and a machine."""
    rng = np.random.default_rng(seed)
    prompt = np.repeat(np.arange(n), 5)
    truth = rng.random(5 * n) < share
    yes = (truth[:, None] ^ (rng.random((5 * n, 3)) < 0.15)).sum(axis=1)
    machine = truth ^ (rng.random(5 * n) < error)
    return prompt, np.column_stack([3 - yes, yes]).astype(float), machine.astype(int)


@pytest.mark.parametrize(
    ("error", "verdict"), [(0.15, "at least half"), (0.4, "worse"), (0.5, "worse"), (0.0, "better")]
)
def test_a_machine_is_called_what_it_is_beside_one_more_person(error: float, verdict: str) -> None:
    prompt, votes, machine = people_and_machine(100, error, 7)
    assert against_one_person(machine, votes, prompt)["difference"].verdict == verdict


def test_a_machine_that_always_says_the_commonest_label_is_not_as_good_as_a_person() -> None:
    prompt, votes, machine = people_and_machine(100, 0.15, 3, share=0.1)
    found = against_one_person(np.zeros_like(machine), votes, prompt)
    assert found["of_machine"].value == pytest.approx(0)
    assert found["difference"].verdict == "worse"


def test_with_few_prompts_nothing_is_decided() -> None:
    prompt, votes, machine = people_and_machine(5, 0.15, 1)
    found = against_one_person(machine, votes, prompt)["difference"]
    assert found.verdict is None
    assert found.reason == "an interval needs 6 prompts, there are 5"


def planted(seed: int, *, share: float = 0.0, size: int = 1) -> tuple[np.ndarray, ...]:
    """A thousand items of which the machine calls .163 of the noes a yes, 200 labels by people."""
    rng = np.random.default_rng(seed)
    truth = rng.random(1000) < share
    machine = np.where(truth, rng.random(1000) < 0.8, rng.random(1000) < 0.163).astype(int)
    checked = rng.choice(1000, 200, replace=False)
    votes = vote_counts(checked, truth[checked], 1000, 2)
    return machine, votes, np.arange(1000) // size, truth


def test_a_rate_found_where_there_is_none_is_corrected_to_none() -> None:
    machine, votes, prompt, _ = planted(0)
    found = corrected_rate(machine, votes, prompt, 1, YES_NO)
    assert found.raw.value == pytest.approx(0.163, abs=0.035)
    assert found.raw.low > 0.1
    assert (found.corrected.value, found.corrected.low) == (0, 0)
    assert found.corrected.high < 0.02
    assert (found.n_checked, found.n_items) == (200, 1000)


def test_the_corrected_interval_holds_the_truth_as_often_as_it_says() -> None:
    # 300 worlds: the Monte Carlo error of .95 is .013. All sizes: benchmarks/simulate_labels.py.
    raw = covered = 0
    for seed in range(300):
        machine, votes, prompt, _ = planted(seed, share=0.1, size=5)
        found = corrected_rate(machine, votes, prompt, 1, YES_NO)
        covered += found.corrected.covers(0.1)
        raw += found.raw.covers(0.1)
    assert 0.92 <= covered / 300 <= 0.98
    assert raw == 0


def test_a_corrected_rate_is_peoples_share_within_each_label_of_the_machine() -> None:
    # the machine calls 6 of 16 a yes; people checked 4 of these (3 yes) and 5 of the noes (1 yes)
    machine = np.array([1] * 6 + [0] * 10)
    votes = np.zeros((16, 2))
    votes[[0, 1, 2], 1] = 1
    votes[3, 0] = 1
    votes[6, 1] = 1
    votes[[7, 8, 9, 10], 0] = 1
    found = corrected_rate(machine, votes, range(16), 1, YES_NO)
    assert found.corrected.value == pytest.approx(6 / 16 * 3 / 4 + 10 / 16 * 1 / 5)
    other = corrected_rate(machine, votes, range(16), 0, YES_NO)
    assert other.corrected.value == pytest.approx(1 - found.corrected.value)
    assert (other.corrected.low, other.corrected.high) == pytest.approx(
        (1 - found.corrected.high, 1 - found.corrected.low)
    )


def test_checking_more_of_what_the_machine_calls_a_yes_does_no_harm() -> None:
    rng = np.random.default_rng(2)
    truth = rng.random(20_000) < 0.2
    machine = np.where(truth, rng.random(20_000) < 0.7, rng.random(20_000) < 0.1).astype(int)
    checked = rng.random(20_000) < np.where(machine == 1, 0.5, 0.1)
    votes = np.eye(2)[truth.astype(int)] * checked[:, None]
    found = corrected_rate(machine, votes, range(20_000), 1, YES_NO).corrected
    assert found.covers(0.2)
    assert abs(truth[checked].mean() - 0.2) > 0.1


def test_a_rate_is_refused_where_nothing_can_correct_it() -> None:
    machine = np.array([1] * 3 + [0] * 27)
    votes = np.zeros((30, 2))
    nobody = corrected_rate(machine, votes, range(30), 1, YES_NO).corrected
    assert nobody.reason == "nobody checked an item"
    votes[3:20, 0] = 1
    missing = corrected_rate(machine, votes, range(30), 1, YES_NO)
    assert missing.corrected.reason == "none of the items that the machine calls yes was checked"
    assert missing.raw.value == pytest.approx(0.1)
    few = corrected_rate(machine, np.eye(2)[machine], np.arange(30) // 10, 1, YES_NO).corrected
    assert few.value == pytest.approx(0.1)
    assert few.reason == "3 prompts were checked: an interval needs at least 6"


def test_a_machine_that_draws_lots_leaves_peoples_own_rate() -> None:
    rng = np.random.default_rng(8)
    truth, machine = (rng.random(4000) < 0.3).astype(int), rng.integers(0, 2, 4000)
    votes = np.eye(2)[truth]
    votes[400:] = 0
    found = corrected_rate(machine, votes, range(4000), 1, YES_NO).corrected
    assert found.value == pytest.approx(truth[:400].mean(), abs=0.01)
    plain = wilson(int(truth[:400].sum()), 400)
    assert found.high - found.low == pytest.approx(plain.high - plain.low, rel=0.05)


def test_the_best_cut_is_the_one_of_highest_kappa() -> None:
    rng = np.random.default_rng(6)
    score = rng.integers(1, 11, 60).astype(float)
    share = (score + rng.normal(0, 2, 60) > 6).astype(float)
    cut = best_cut(score, share)
    kappas = {}
    for one in np.arange(1.5, 10):
        machine = (score >= one).astype(int)
        votes = np.column_stack([1 - share, share])
        kappas[one] = label_agreement(machine, votes, range(60), YES_NO).figures["kappa"].value
    best = max(kappas.values())
    chosen = label_agreement((score >= cut).astype(int), votes, range(60), YES_NO)
    assert chosen.figures["kappa"].value == pytest.approx(best)
    assert np.isnan(best_cut(np.ones(5), np.array([0, 1, 0, 1, 1.0])))
    assert np.isnan(best_cut(np.arange(5.0), np.ones(5)))


def test_labels_of_a_panel_are_those_of_most_judges_and_none_of_a_tie() -> None:
    #              item 0: yes yes no, item 1: yes no, item 2: nobody
    labels = Labels(
        "x", YES_NO, np.array([0, 1, 2, 0, 1]), np.array([0, 0, 0, 1, 1]), np.array([1, 1, 0, 1, 0])
    )
    assert labels.most(3).tolist() == [1, -1, -1]
    assert labels.votes(3).tolist() == [[1, 2], [1, 1], [0, 0]]


def test_what_is_no_category_or_does_not_fit_is_an_error() -> None:
    with pytest.raises(ValueError, match="needs two categories or more"):
        label_agreement([0], [[1]], [0], ("only",))
    with pytest.raises(ValueError, match=r"needs \(items,\) and \(items, K\)"):
        label_agreement([0, 1], [[1, 0]], [0, 1], YES_NO)
    with pytest.raises(ValueError, match="codes must be below 2"):
        label_agreement([2], [[1, 0]], [0], YES_NO)


def test_the_order_of_items_and_the_names_of_prompts_change_nothing() -> None:
    prompt, votes, machine = people_and_machine(20, 0.2, 5)
    order = np.random.default_rng(0).permutation(len(prompt))
    names = [f"p{19 - code}" for code in prompt]
    one = label_agreement(machine, votes, prompt, YES_NO).figures
    other = label_agreement(
        machine[order], votes[order], [names[k] for k in order.tolist()], YES_NO
    ).figures
    for name in one:
        got = [(x.value, x.low, x.high) for x in (one[name], other[name])]
        assert got[0] == pytest.approx(got[1])
