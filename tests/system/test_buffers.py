import torch

from headscope.system.memory import Buffers


def test_the_same_name_gives_the_same_memory():
    buffers = Buffers()
    buffers.numbers("sums", 6, torch.float32).copy_(torch.arange(6.0))
    assert buffers.numbers("sums", 4, torch.float32).tolist() == [0, 1, 2, 3]
    assert buffers.numbers("sums", 6, torch.float32).tolist() == [0, 1, 2, 3, 4, 5]


def test_more_numbers_take_new_memory_and_names_have_their_own():
    buffers = Buffers()
    few = buffers.numbers("sums", 3, torch.float32).fill_(1)
    other = buffers.numbers("products", 3, torch.float32).fill_(2)
    more = buffers.numbers("sums", 1000, torch.float32).fill_(3)
    assert (few == 1).all()
    assert (other == 2).all()
    assert (more == 3).all()


def test_numbers_are_of_the_dtype_that_is_asked_for():
    buffers = Buffers()
    for dtype in (torch.float32, torch.float64, torch.float32):
        numbers = buffers.numbers("sums", 5, dtype)
        assert numbers.dtype == dtype
        assert numbers.shape == (5,)


def test_no_numbers_at_all_are_no_error():
    assert Buffers().numbers("sums", 0, torch.float32).shape == (0,)
