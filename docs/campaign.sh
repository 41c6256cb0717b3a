#!/bin/sh
# A campaign: one run of obo-bench after the other, steered by exit statuses alone (docs/exit-codes.md).
#
#   campaign.sh NAME DIRECTORY [OPTION of `programbench run`]...
#
# Every file DIRECTORY/*.txt (one instance id a line) is one run, in the order of the file names; its run id is
# NAME-<file name without .txt>. Start the same command again to go on with a campaign that has ended early.
#
#   3, 4, 7        the campaign stops: the reason holds for everything that remains
#   2, 5, 70, ...  it stops, too: somebody has to look
#   8              it pauses until the file $CAMPAIGN_GO_ON appears; a number in it is the new ceiling in USD
#   6              the run is repeated: what is solved and graded stays, the rest is graded again
#   129, 130, 143  the run is resumed, unless the campaign itself was asked to end; then it ends with that status
#   1              some instances failed: the next run follows, and the campaign ends with 1
#
# The checkout, the server and the runs root come from OUROBOROS_REPO_DIR, OBO_BENCH_OUROBOROS_URL and
# OUROBOROS_BENCH_RUNS_ROOT, because commands without the options of a run need them, too. Of its own it reads:
#
#   CAMPAIGN_REFERENCE      scores that the first run must reach (`programbench gate --reference`); empty: no such gate
#   CAMPAIGN_MIN_PAIRS      tasks with a score that this gate demands (20)
#   CAMPAIGN_MAX_COST_USD   spending ceiling of each run; empty: none
#   CAMPAIGN_GO_ON          file that ends a pause (./NAME.go-on)
#   CAMPAIGN_RETRIES        how often one run is repeated or resumed (3)
#   CAMPAIGN_RETRY_SEC      seconds before that (60)
set -eu

if [ "$#" -lt 2 ] || [ ! -d "$2" ]; then
    echo "usage: campaign.sh NAME DIRECTORY [OPTION of programbench run]...; DIRECTORY holds files *.txt with ids" >&2
    exit 2
fi
name=$1
directory=$2
shift 2
reference=${CAMPAIGN_REFERENCE:-}
min_pairs=${CAMPAIGN_MIN_PAIRS:-20}
ceiling=${CAMPAIGN_MAX_COST_USD:-}
go_on=${CAMPAIGN_GO_ON:-$PWD/$name.go-on}
retries=${CAMPAIGN_RETRIES:-3}
retry_sec=${CAMPAIGN_RETRY_SEC:-60}

child=
asked=0
signals=0
status=0
failed_runs=

say() {
    printf 'campaign %s: %s\n' "$name" "$*" >&2
}

stop() {
    say "stopped ($1): $2"
    exit "$1"
}

# Ctrl-C and a closed terminal reach the run by themselves; only TERM, and whatever comes second, is passed on.
# shellcheck disable=SC2317,SC2329
signalled() {
    if [ -n "$child" ] && { [ "$asked" -ne 0 ] || [ "$1" -eq 143 ]; }; then
        kill -TERM "$child" 2>/dev/null || :
    fi
    asked=$1
    signals=$((signals + 1))
}
trap 'signalled 129' HUP
trap 'signalled 130' INT
trap 'signalled 143' TERM

end_if_asked() {
    if [ "$asked" -ne 0 ]; then
        stop "$asked" "asked to end; the same command goes on"
    fi
}

# Runs a command and sets $status to its own, whatever signals come in the meantime.
follow() {
    "$@" &
    child=$!
    [ "$asked" -eq 0 ] || kill -TERM "$child" 2>/dev/null || :
    while :; do
        seen=$signals
        status=0
        wait "$child" || status=$?
        [ "$signals" -ne "$seen" ] || break
    done
    child=
    end_if_asked
}

# Waits in short steps, so that a signal ends it.
pause() {
    left=$1
    while [ "$left" -gt 0 ]; do
        end_if_asked
        sleep 1
        left=$((left - 1))
    done
    end_if_asked
}

another_try() {
    if [ "$retries_left" -le 0 ]; then
        stop "$status" "$1, also after $retries more tries"
    fi
    retries_left=$((retries_left - 1))
    say "$1 ($status); again in $retry_sec s"
    pause "$retry_sec"
}

wait_for_more_money() {
    rm -f -- "$go_on"
    say "paused (8): the ceiling${ceiling:+ of $ceiling USD} is reached; to go on, write the new one:" \
        "echo USD > $go_on"
    while :; do
        pause 1
        [ -f "$go_on" ] || continue
        told=$(cat -- "$go_on")
        rm -f -- "$go_on"
        case $told in
        '') break ;;
        *[!0-9.]* | *.*.* | .) say "not a number of USD: $told" ;;
        *)
            ceiling=$told
            break
            ;;
        esac
    done
    say "going on${ceiling:+ with a ceiling of $ceiling USD}"
}

# Brings one file of ids to its end: solved, graded, or the campaign is over.
run_batch() {
    batch=$1
    run_id=$name-$(basename -- "$batch" .txt)
    shift
    retries_left=$retries
    while :; do
        say "run $run_id"
        follow obo-bench programbench run --run-id "$run_id" --ids-file "$batch" --eval "$@" \
            ${ceiling:+--max-cost-usd "$ceiling"}
        case $status in
        0) return ;;
        1)
            failed_runs="$failed_runs $run_id"
            return
            ;;
        3 | 4 | 7) stop "$status" "going on is pointless; run $run_id says why" ;;
        6) another_try "run $run_id has ungraded submissions" ;;
        8) wait_for_more_money ;;
        129 | 130 | 143) another_try "run $run_id was interrupted" ;;
        *) stop "$status" "run $run_id ended in a way that somebody has to look at" ;;
        esac
    done
}

first=yes
for file in "$directory"/*.txt; do
    [ -f "$file" ] || stop 2 "no file *.txt in $directory"
    if [ "$first" = yes ]; then
        follow obo-bench attest --require-ready --quiet >&2
        [ "$status" -eq 0 ] || stop "$status" "a run would not be admitted"
    fi
    run_batch "$file" "$@"
    if [ "$first" = yes ] && [ -n "$reference" ]; then
        follow obo-bench programbench gate --run "$name-$(basename -- "$file" .txt)" --tasks "$file" \
            --reference "$reference" --min-pairs "$min_pairs" >&2
        [ "$status" -eq 0 ] || stop "$status" "the gate does not say GO"
    fi
    first=no
done
if [ -n "$failed_runs" ]; then
    say "finished; instances failed in:$failed_runs"
    exit 1
fi
say "finished"
