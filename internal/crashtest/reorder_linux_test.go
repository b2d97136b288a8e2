package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// A store is on a disk that logs every write and flush. For many points in time, the disk that
// a crash would have left is built, with any of the writes since the last flush present,
// missing or torn. ext4 recovers it, and the store must have everything that it had
// acknowledged by then. A full run is HOLDFAST_CRASH_TRIALS=2000: 500 crash points on each
// store.
func TestReorder(t *testing.T) {
	if !inside(t) {
		return
	}
	for _, store := range Stores {
		t.Run(store, func(t *testing.T) {
			r := newReorder(t, store)
			r.points(t, points(t, 500))
			t.Log(r)
			if r.tally.Broken > 0 {
				t.Errorf("%d crash points with loss", r.tally.Broken)
			}
		})
	}
}

// Two controls: without fsync, and with a disk that never flushes, something must be lost.
func TestReorderControl(t *testing.T) {
	if !inside(t) {
		return
	}
	for _, store := range Stores {
		for name, set := range map[string]func(*reorder){
			"without fsync":           func(r *reorder) { r.noSync = true },
			"disk that never flushes": func(r *reorder) { r.liar = true },
		} {
			t.Run(store+"/"+name, func(t *testing.T) {
				r := newReorder(t, store)
				r.control = true
				set(r)
				r.points(t, points(t, 100))
				t.Log(r)
				if r.tally.Broken == 0 {
					t.Error("nothing was lost: the harness does not see losses")
				}
			})
		}
	}
}

// points says how many crash points of a full run's to look at.
func points(t *testing.T, full int) int {
	if os.Getenv("HOLDFAST_CRASH_TRIALS") != "" {
		return trials(t, full)
	}
	return max(8, full/25)
}

// reorder is a series of recordings of one kind of store, and of crashes in them.
type reorder struct {
	store, dir            string
	noSync, liar, control bool

	rng   *rand.Rand
	disks *LogDisk
	empty []byte // a file system

	n                                    int // recordings
	entries, unflushed, kept, torn, dead int
	tally                                Totals
	took                                 time.Duration
}

func (r *reorder) String() string {
	return fmt.Sprintf("%d crash points in %d recordings of %d writes, flushes and acks; before them %d writes were not flushed, of which %d were kept (%d torn); "+
		"%d records acknowledged by then, %d lost (%d crash points with loss, %d file systems not mounted); %d more on disk than reported; %.1f crash points/s",
		r.tally.Trials, r.n, r.entries, r.unflushed, r.kept, r.torn, r.tally.Acked, r.tally.Lost, r.tally.Broken, r.dead, r.tally.Unacked,
		float64(r.tally.Trials)/r.took.Seconds())
}

func newReorder(t *testing.T, store string) *reorder {
	t.Helper()
	r := &reorder{store: store, dir: t.TempDir(), rng: random(t)}
	image := filepath.Join(r.dir, "empty.img")
	f, err := os.Create(image)
	if err == nil {
		err = errors.Join(f.Truncate(64<<20), f.Close())
	}
	if err == nil {
		err = run(t.Context(), "mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
	}
	if err == nil {
		r.empty, err = os.ReadFile(image)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r.disks, err = NewLogDisk(filepath.Join(r.dir, "disks")); err != nil {
		testneed.Need(t, "no FUSE here (%v); in a container run it with: docker run --privileged", err)
	}
	t.Cleanup(func() {
		if err := r.disks.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// perRecording is how many crash points share a recording.
const perRecording = 50

func (r *reorder) points(t *testing.T, n int) {
	t.Helper()
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	for done := 0; done < n; {
		log, from := r.record(t)
		for i := 0; i < perRecording && done < n; i++ {
			r.crash(t, log, log.Point(r.rng, from))
			done++
			if r.tally.Broken > 0 && !r.control {
				return
			}
		}
	}
}

// record lets a child lead its sessions' lives on a fresh disk, or open and close its store
// again and again, and returns what the disk was told, up to the child's end, and where in it the child began.
func (r *reorder) record(t *testing.T) (*WriteLog, int) {
	t.Helper()
	log := &WriteLog{}
	name := fmt.Sprint("disk-", r.n)
	path := r.disks.Add(name, NewImage(r.empty), log)
	notes := r.disks.AddNotes("notes", log)
	defer r.disks.Remove(name)
	defer r.disks.Remove("notes")
	work, rounds := "life", 3
	if r.n%2 == 1 {
		work, rounds = "reopen", 8
	}
	r.child(t, Task{
		Disk: path, Store: r.store, Work: work, Rounds: rounds, Run: r.n, NoSync: r.noSync,
		Sessions: []string{"a", "b", "c", "d"}, Report: notes,
	})
	report, err := ReadReport(strings.NewReader(log.Notes(log.Len())), func() {})
	switch {
	case err != nil:
		t.Fatal(err)
	case !report.Ready:
		testneed.Need(t, "no loop device can be mounted here (%v); in a container run it with: docker run --privileged", report.Failed)
	case !report.Done:
		t.Fatalf("the recorded child did not come to its end: %+v", report)
	}
	from := log.After("ready")
	log.Cut(log.After(`event {"What":"` + WorkDone)) // then all is flushed
	r.n++
	r.entries += log.Len() - from
	return log, from
}

// crash builds the disk that a crash after n entries leaves, and checks it.
func (r *reorder) crash(t *testing.T, log *WriteLog, n int) {
	t.Helper()
	image, c := log.Crash(r.rng, r.empty, n, r.liar)
	r.unflushed, r.kept, r.torn = r.unflushed+c.Unflushed, r.kept+c.Kept, r.torn+c.Torn
	past := filepath.Join(r.dir, "past")
	told := log.Notes(n)
	if err := os.WriteFile(past, []byte(told), 0o600); err != nil {
		t.Fatal(err)
	}
	then, err := ReadReport(strings.NewReader(told), func() {})
	if err != nil {
		t.Fatal(err)
	}
	r.tally.Trials++
	r.tally.Acked += len(then.Acks)
	path := r.disks.Add("crashed", image, nil)
	defer r.disks.Remove("crashed")
	out := filepath.Join(r.dir, "found")
	if err := os.WriteFile(out, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.child(t, Task{Disk: path, Store: r.store, Work: "check", Report: out, Past: past})
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	found, err := ReadReport(f, func() {})
	if err != nil {
		t.Fatal(err)
	}
	if !found.Ready {
		r.dead++
	}
	r.tally.Lost += found.Found.Lost
	r.tally.Unacked += found.Found.Unacked
	if problems := append(found.Faults, found.Failed...); len(problems) > 0 || !found.Done {
		r.wrong(t, c, problems...)
	}
}

func (r *reorder) wrong(t *testing.T, c Crash, problems ...string) {
	t.Helper()
	if r.tally.Broken++; !r.control {
		t.Errorf("crash point %d of recording %d (%+v):\n%s", r.tally.Trials, r.n, c, strings.Join(problems, "\n"))
	}
}

// child runs a task to its end in a process of its own.
func (r *reorder) child(t *testing.T, task Task) {
	t.Helper()
	task.Mount = filepath.Join(r.dir, "mnt")
	task.Dir = filepath.Join(task.Mount, "store")
	task.Ledger = filepath.Join(r.dir, "ledger")
	if err := os.MkdirAll(task.Mount, 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+string(text), "GOMAXPROCS=2")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended || len(out) > 0 {
		t.Fatalf("the child: %v\n%s", err, firstLines(string(out), 30))
	}
}
