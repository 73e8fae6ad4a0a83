import threading
import time

from headscope.system.timing import stage_times, timed


def test_stages_inside_others_are_taken_out_of_them():
    with stage_times() as times, timed("outer"):
        time.sleep(0.02)
        with timed("inner"):
            time.sleep(0.05)
    assert times.seconds["inner"] >= 0.05
    assert 0.02 <= times.seconds["outer"] < 0.05


def test_threads_add_up():
    def work():
        with timed("work"):
            time.sleep(0.03)

    with stage_times() as times:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert times.seconds["work"] >= 0.09


def test_nothing_is_noted_while_nobody_asks():
    with stage_times() as times:
        pass
    with timed("later"):
        pass
    assert times.seconds == {}
