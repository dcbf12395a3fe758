"""What the pages say: of whole runs, of damaged ones, and of hostile ones."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand import api
from evenhand.serve import ServeSettings
from evenhand.serve.folders import ServedFolders
from evenhand.serve.library import Library
from evenhand.serve.pictures import candidates, load_media
from evenhand.serve.selection import RowQuery
from evenhand.store.manifest import FORMAT
from evenhand.store.unfinished import lock_folder

Clients = Callable[..., Any]
Keys = Callable[..., str]
Runs = Callable[..., Path]


def models(text: str) -> list[str]:
    """The models of a list, in order."""
    return re.findall(r'<a class="strong break" href="/run/\w+">([^<]*)</a>', text)


def test_the_list_names_every_run_with_its_value(client: Any) -> None:
    text = client.get("/").text
    assert sorted(models(text)) == ["careful", "careful", "hasty"]
    assert "3 of 3 runs" in text
    assert "90.0 % [" in text


def test_the_list_writes_values_gaps_and_groups_as_reports_do(client: Any) -> None:
    text = client.get("/?task=fairface/gender&q=careful").text
    assert "Accuracy ↑" in text
    assert "points</span>" in text


def test_a_group_says_in_words_how_its_interval_was_computed(client: Any, made: Path, key: Keys) -> None:
    assert "Interval: Wilson." in client.get(f"/run/{key(made)}/group?g=gender%3DFemale").text


def test_the_list_is_filtered_by_words_task_and_kind(client: Any) -> None:
    assert models(client.get("/?q=HASTY").text) == ["hasty"]
    assert models(client.get("/?task=fairface/race").text) == ["careful"]
    assert models(client.get("/?q=hasty&task=fairface/race").text) == []
    assert models(client.get("/?state=damaged").text) == []
    assert "No run matches the filter" in client.get("/?q=nothing").text


def test_the_list_is_sorted_both_ways(client: Any) -> None:
    rising = models(client.get("/?task=fairface/gender&sort=value&way=up").text)
    falling = models(client.get("/?task=fairface/gender&sort=value&way=down").text)
    assert (rising, falling) == (["hasty", "careful"], ["careful", "hasty"])
    assert 'aria-sort="ascending"' in client.get("/?sort=value&way=up").text


def test_ticks_outlive_a_filter_that_hides_them(client: Any, made: Path, key: Keys) -> None:
    text = client.get(f"/?q=hasty&run={key(made)}").text
    assert "1 ticked run is hidden by the filter" in text
    assert f'<input type="hidden" class="tick" name="run" value="{key(made)}">' in text


def test_a_number_leads_to_its_group_to_its_rows_to_the_sample(client: Any, made: Path, key: Keys) -> None:
    run = client.get(f"/run/{key(made)}").text
    link = re.search(r'href="(/run/\w+/group\?g=gender%3DFemale[^"]*)"', run)
    assert link is not None
    group = client.get(link[1].replace("&amp;", "&")).text
    assert "30 samples, worst first" in group
    row = re.search(r'<a href="(/run/\w+/row/(\d+)[^"]*)">val/10.jpg</a>', group)
    assert row is not None, "the first wrong answer of the group is a worst row"
    sample = client.get(row[1].replace("&amp;", "&")).text
    assert "val/10.jpg" in sample
    assert f"/row/{row[2]}/picture/0" in sample


def test_the_picture_of_a_row_is_the_one_in_the_data_folder(client: Any, made: Path, key: Keys) -> None:
    response = client.get(f"/run/{key(made)}/row/9/picture/0")
    assert response.headers["content-type"] == "image/jpeg"
    assert response.content == (made / "data" / "val" / "10.jpg").read_bytes()
    assert len(client.get(f"/run/{key(made)}/row/9/picture/0?width=160").content) < len(response.content) + 4000
    assert client.get(f"/run/{key(made)}/row/9/picture/7").status_code == 404
    assert client.get(f"/run/{key(made)}/row/9999").status_code == 422


def test_without_a_data_folder_the_row_says_how_to_see_the_picture(made: Path, client_of: Clients, key: Keys) -> None:
    text = client_of(made, data=False).get(f"/run/{key(made)}/row/0").text
    assert "--data DIR" in text


def test_two_runs_are_compared_and_told_apart(client: Any, made: Path, key: Keys) -> None:
    query = f"run={key(made)}&run={key(made, 'hasty')}"
    compared = client.get(f"/compare/found?{query}").text
    assert "Paired on the 60 units that both have" in compared
    assert 'class="plot' in compared  # the chart of the comparison page
    differing = client.get(f"/diff/found?{query}").text
    assert "What they were made of" in differing
    assert "nonce-" in client.get(f"/diff/page?{query}").headers["content-security-policy"]
    page = client.get(f"/compare/page?{query}")
    assert "nonce-" in page.headers["content-security-policy"]


def test_runs_that_can_t_be_compared_say_why(client: Any, made: Path, key: Keys) -> None:
    assert "tick two or more" in client.get(f"/compare?run={key(made)}").text
    query = f"run={key(made)}&run={key(made, task='fairface/race')}"
    assert "different tasks" in client.get(f"/compare/found?{query}").text
    assert client.get("/compare?run=nobody&run=nothing").status_code == 404


def test_extra_fields_of_the_form_are_left_out_of_the_address_of_a_comparison(
    client: Any, made: Path, key: Keys
) -> None:
    query = f"run={key(made)}&run={key(made, 'hasty')}"
    wanted = f"/compare?baseline={key(made)}&{query}"
    assert client.get(f"/compare?q=&task=&{query}").headers["location"] == wanted
    assert "careful" in client.get(wanted).text


def test_the_older_run_is_the_baseline_unless_another_is_chosen(client: Any, made: Path, key: Keys) -> None:
    older, newer = key(made), key(made, "hasty")
    swapped = client.get(f"/compare?run={newer}&run={older}").headers["location"]
    assert swapped == f"/compare?baseline={older}&run={older}&run={newer}"
    assert "hasty compared with careful" in client.get(f"/compare/found?run={newer}&run={older}").text
    chosen = client.get(f"/compare/found?baseline={newer}&run={older}&run={newer}").text
    assert "careful compared with hasty" in chosen


def test_a_cell_of_the_confusion_matrix_leads_to_its_samples_in_words(client: Any, made: Path, key: Keys) -> None:
    page = client.get(f"/run/{key(made, 'hasty')}").text
    link = next(part for part in page.split('href="') if "truth=Male&amp;answer=Female" in part).split('"')[0]
    gallery = client.get(link.replace("&amp;", "&")).text
    assert "Male <span" in gallery
    assert "10 samples" in gallery
    assert gallery.count("<li><a href=") == 10 + gallery.count('<li><a href="/"')
    assert "Male → Female" in gallery
    row = gallery.split('<ul class="gallery">')[1].split('href="')[1].split('"')[0].replace("&amp;", "&")
    sample = client.get(row).text
    assert "answered as <strong>Female</strong>" in sample
    assert 'rel="next"' in sample
    assert "1 of 10" in sample


def test_samples_are_filtered_ordered_and_paged_by_their_address(client: Any, made: Path, key: Keys) -> None:
    run = key(made)
    assert "60 samples" in client.get(f"/run/{run}/gallery").text
    assert "page 2 of 3" in client.get(f"/run/{run}/gallery?page=2").text
    assert "1 sample;" in client.get(f"/run/{run}/gallery?q=val/17.jpg").text
    worst = client.get(f"/run/{run}/gallery?metric=gender&output=accuracy").text
    best = client.get(f"/run/{run}/gallery?metric=gender&output=accuracy&sort=best").text
    assert worst.count('class="other"') == 6
    assert best.count('class="other"') == 0
    assert client.get(f"/run/{run}/gallery?truth=Nobody").status_code == 422


def test_numbers_of_any_length_in_a_path_are_not_found(client: Any, made: Path, key: Keys) -> None:
    for number in ("9" * 5000, "-1", "1.0", "x", "٣"):
        assert client.get(f"/run/{key(made)}/row/{number}").status_code == 404
        assert client.get(f"/run/{key(made)}/row/0/picture/{number}").status_code == 404


def test_results_that_are_cut_off_leave_the_facts(place: Path, client_of: Clients, key: Keys, run_of: Runs) -> None:
    path = run_of(place) / "results.json"
    path.write_bytes(path.read_bytes()[:200])
    client = client_of(place)
    assert ">damaged</span>" in client.get("/").text
    text = client.get(f"/run/{key(place)}").text
    assert "Not all of this run can be read" in text
    assert "fairface_label_val.csv" in text
    assert client.get(f"/run/{key(place)}/report").status_code == 422


def test_without_its_manifest_a_run_still_shows_its_values(
    place: Path, client_of: Clients, key: Keys, run_of: Runs
) -> None:
    (run_of(place) / "run.json").unlink()
    text = client_of(place).get(f"/run/{key(place)}").text
    assert "it has no run.json" in text
    assert "By gender" in text
    assert "0.90" in text


def test_a_run_of_a_newer_version_says_so_and_shows_what_it_is(
    place: Path, client_of: Clients, key: Keys, run_of: Runs
) -> None:
    for name in ("run.json", "results.json"):
        path = run_of(place) / name
        path.write_text(
            path.read_text(encoding="utf-8").replace(f'"format": {FORMAT}', '"format": 99', 1), encoding="utf-8"
        )
    text = client_of(place).get(f"/run/{key(place)}").text
    assert "A newer version wrote it" in text
    assert "careful" in text


def test_lost_rows_are_told_and_the_numbers_stay(place: Path, client_of: Clients, key: Keys, run_of: Runs) -> None:
    shutil.rmtree(run_of(place) / "records")
    client = client_of(place)
    assert "By gender" in client.get(f"/run/{key(place)}").text
    assert "Evaluate again" in client.get(f"/run/{key(place)}/group").text
    query = f"run={key(place)}&run={key(place, 'hasty')}"
    assert "can&#39;t be compared" in client.get(f"/compare/found?{query}").text


def test_a_changed_part_is_not_shown_as_rows(place: Path, client_of: Clients, key: Keys, run_of: Runs) -> None:
    part = next((run_of(place) / "records").glob("part-*.parquet"))
    data = bytearray(part.read_bytes())
    data[-1] ^= 1
    part.unlink()  # parts may be shared between runs
    part.write_bytes(data)
    assert "its content has changed" in client_of(place).get(f"/run/{key(place)}/group").text


def test_a_link_in_a_run_that_leads_out_is_not_read(place: Path, client_of: Clients, key: Keys, run_of: Runs) -> None:
    secret = place / "secret.json"
    (run_of(place) / "results.json").rename(secret)
    (run_of(place) / "results.json").symlink_to(secret)
    client = client_of(place)
    response = client.get(f"/run/{key(place)}")
    assert response.status_code == 403
    assert "0.90" not in response.text
    assert "outside the folders" in client.get("/").text


def test_a_linked_run_folder_is_not_followed_but_counted(place: Path, client_of: Clients, run_of: Runs) -> None:
    elsewhere = place / "elsewhere"
    shutil.move(run_of(place, "hasty"), elsewhere)
    (place / "runs" / "fairface" / "gender" / "hasty" / "linked").symlink_to(elsewhere)
    text = client_of(place).get("/").text
    assert "1 symbolic link not followed" in text
    assert "hasty" not in models(text)


def test_a_picture_behind_a_link_out_of_the_data_is_not_read(place: Path, client_of: Clients, key: Keys) -> None:
    picture = place / "data" / "val" / "10.jpg"
    picture.rename(place / "private.jpg")
    picture.symlink_to(place / "private.jpg")
    client = client_of(place)
    assert client.get(f"/run/{key(place)}/row/9/picture/0").status_code == 404
    assert "outside the data folders" in client.get(f"/run/{key(place)}/row/9").text


@pytest.mark.parametrize("name", ["../../../secret.parquet", "/etc/passwd", "..", "a\\..\\b"])
def test_a_part_that_names_another_place_is_not_read(
    place: Path, client_of: Clients, key: Keys, run_of: Runs, name: str
) -> None:
    path = run_of(place) / "records" / "recorded.json"
    plain = json.loads(path.read_text(encoding="utf-8"))
    plain["parts"][0]["name"] = name
    path.unlink()
    path.write_text(json.dumps(plain), encoding="utf-8")
    text = client_of(place).get(f"/run/{key(place)}/group").text
    assert "no file beside it" in text


def test_an_option_of_a_run_is_no_way_to_read_another_file(
    place: Path, client_of: Clients, key: Keys, run_of: Runs
) -> None:
    (place / "other.csv").write_text("file,age,gender,race\nsecret words,1,2,3\n", encoding="utf-8")
    path = run_of(place) / "run.json"
    plain = json.loads(path.read_text(encoding="utf-8"))
    plain["options"]["labels"] = "../other.csv"
    path.write_text(json.dumps(plain), encoding="utf-8")
    (place / "data" / "val" / "10.jpg").unlink()
    text = client_of(place).get(f"/run/{key(place)}/row/9").text
    assert "secret words" not in text
    assert "leads out of the data" in text


EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def test_hostile_names_and_contents_are_text(place: Path, client_of: Clients, run_of: Runs, key: Keys) -> None:
    run = run_of(place)
    for name in ("run.json", "results.json"):
        text = (run / name).read_text(encoding="utf-8")
        text = text.replace('"careful"', json.dumps(EVIL)).replace('"Female"', json.dumps(EVIL))
        (run / name).write_text(text, encoding="utf-8")
    run.parent.rename(run.parent.with_name("<script>alert(2)<"))
    client = client_of(place)
    from evenhand.serve.listing import key_of

    folder = next((place / "runs" / "fairface" / "gender" / "<script>alert(2)<").iterdir())
    address = f"/run/{key_of(folder, place / 'runs')}"
    for page in ("/", address, f"{address}/group", f"{address}/row/1", f"{address}/report"):
        response = client.get(page)
        assert response.status_code == 200, page
        assert "<script>alert" not in response.text
        assert "<img src=x" not in response.text
    assert "&lt;script&gt;alert(1)" in client.get("/").text


def test_a_name_that_is_no_text_can_be_listed_and_opened(place: Path, client_of: Clients, run_of: Runs) -> None:
    import os

    run = run_of(place)
    strange = os.fsdecode(b"caf\xe9")
    run.rename(run.with_name(strange))
    text = client_of(place).get("/").text
    address = re.search(r'href="(/run/\w+)">careful<', text)
    assert address is not None
    assert client_of(place).get(address[1]).status_code == 200


def test_an_empty_folder_says_what_to_do(tmp_path: Path, client_of: Clients) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "data").mkdir()
    assert "evenhand evaluate TASK" in client_of(tmp_path).get("/").text


def unfinished(place: Path, run: Path) -> Path:
    """A run as it is while it is made."""
    folder = run.with_name(f".{json.loads((run / 'run.json').read_text())['fingerprint']}.partial-0a1b2c3d")
    shutil.move(run, folder)
    for name in ("run.json", "results.json"):
        shutil.move(folder / name, place / name)
    shutil.move(folder / "records" / "recorded.json", place / "recorded.json")
    (folder / "underway.json").write_text('{"task": "fairface/gender", "model": "careful", "samples": 60}')
    return folder


def test_a_run_is_followed_until_it_is_finished(place: Path, client_of: Clients, run_of: Runs) -> None:
    run = run_of(place)
    folder = unfinished(place, run)
    client = client_of(place)
    page = client.get("/").text
    address = re.search(r'href="(/live/\w+)"', page)
    assert address is not None
    assert "interrupted" in client.get(address[1]).text
    lock = lock_folder(folder)
    assert lock is not None
    text = client.get(address[1]).text
    assert "under way" in text
    assert "recording rows: 1 parts recorded" in text
    shutil.move(place / "recorded.json", folder / "records" / "recorded.json")
    assert "measuring groups and intervals" in client.get(address[1]).text
    seen = re.search(r"seen=(\w+)", client.get("/").text)
    assert seen is not None
    for name in ("run.json", "results.json"):
        shutil.move(place / name, folder / name)
    folder.rename(run)
    os.close(lock)
    for _ in range(100):  # the list is at most a second old, or older where walking the folder takes long
        changed = client.get(f"/live?seen={seen[1]}").headers.get("hx-trigger")
        if changed:
            break
        time.sleep(0.2)
    assert changed == "runs-changed"
    assert "The run is finished" in client.get(address[1]).text
    assert client.get("/live/unknown").status_code == 404


def test_answers_are_counted_as_a_model_gives_them(place: Path, client_of: Clients) -> None:
    from evenhand.core.task import Unanswered
    from evenhand.store.journal import Journal

    folder = place / "runs" / "fairface" / "gender" / "model" / ".e5f6a7b8.partial-00000000"
    journal = Journal(folder / "journal", most_answers=2)
    for number in range(5):
        journal.ask(f"val/{number}.jpg")
        journal.add(f"val/{number}.jpg", Unanswered("no face") if number == 1 else "Male")
    (folder / "underway.json").write_text('{"task": "fairface/gender", "model": "model", "samples": 10}')
    client = client_of(place)
    address = re.search(r'href="(/live/\w+)"', client.get("/").text)
    assert address is not None
    text = client.get(address[1]).text
    assert "4 of 10 answers" in text
    assert "<dd>1</dd>" in text, "one answer is not on disk yet"
    journal.close()
    assert "5 of 10 answers" in client.get(address[1]).text


def test_a_named_folder_may_be_above_the_data_whatever_the_working_directory(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made)
    run = api.evaluate(
        "fairface/gender", "careful.csv", data="data", model="relative", draws=0, permutations=0, runs=tmp_path / "runs"
    )
    monkeypatch.chdir(tmp_path)
    folders = ServedFolders.of([made])
    assert (made / "data").resolve() in candidates(run.manifest, folders)
    assert load_media(run.folder, run.manifest, folders).by_sample


def test_values_with_unverified_weights_are_marked_on_every_page(
    place: Path, client_of: Clients, key: Keys, run_of: Runs
) -> None:
    path = run_of(place) / "results.json"
    document = json.loads(path.read_text())
    document["facts"]["unverified"] = {document["metrics"][0]["name"]: "column"}
    path.write_text(json.dumps(document))
    client = client_of(place)
    for address in ("/", f"/run/{key(place)}", f"/run/{key(place)}/group"):
        assert "(unverified weights)" in client.get(address).text, address


def test_queries_by_keyword_and_by_position_are_told_apart(made: Path, key: Callable[..., str]) -> None:
    library = Library(ServeSettings(made / "runs"))
    line = library.line(key(made, "careful"))
    queries = [RowQuery(text="val/1."), RowQuery(text="val/2."), RowQuery()]
    by_place = [library.selected(line, query, None)[0].tolist() for query in queries]
    by_name = [library.selected(line, query=query, choice=None)[0].tolist() for query in queries]
    assert by_place == by_name == [[0], [1], by_place[2]]
    assert len(by_place[2]) == 60
    assert library.selected(line=line, query=queries[1], choice=None)[0].tolist() == [1]
