import torch

from headscope.system.memory import Buffers


def test_the_same_name_gives_the_same_memory():
    room = Buffers()
    room.numbers("sums", 6, torch.float32).copy_(torch.arange(6.0))
    assert room.numbers("sums", 4, torch.float32).tolist() == [0, 1, 2, 3]
    assert room.numbers("sums", 6, torch.float32).tolist() == [0, 1, 2, 3, 4, 5]


def test_more_numbers_take_new_memory_and_names_have_their_own():
    room = Buffers()
    few = room.numbers("sums", 3, torch.float32).fill_(1)
    other = room.numbers("products", 3, torch.float32).fill_(2)
    more = room.numbers("sums", 1000, torch.float32).fill_(3)
    assert (few == 1).all()
    assert (other == 2).all()
    assert (more == 3).all()


def test_numbers_are_of_the_type_that_is_asked_for():
    room = Buffers()
    for kind in (torch.float32, torch.float64, torch.float32):
        numbers = room.numbers("sums", 5, kind)
        assert numbers.dtype == kind
        assert numbers.shape == (5,)


def test_no_numbers_at_all_are_no_error():
    assert Buffers().numbers("sums", 0, torch.float32).shape == (0,)
