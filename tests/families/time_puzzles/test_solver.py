"""Solving by intersection."""

import math

from agent_env.families.time_puzzles.solver import information_gain, rests_of, solve


def test_the_rest_of_a_set_is_the_intersection_of_the_others():
    assert rests_of([0b110, 0b011, 0b111], 0b1111) == [0b011, 0b110, 0b010]


def test_information_gain_is_in_bits():
    assert information_gain(0b1, 8) == 3.0
    assert information_gain(0b11111111, 8) == 0.0
    assert information_gain(0, 8) == math.inf


def test_the_solution_is_in_every_set():
    assert solve([0b1110, 0b0110, 0b1100], 0b1111) == 0b0100
    assert solve([], 0b1111) == 0b1111
    assert solve([0b1, 0b10], 0b1111) == 0
