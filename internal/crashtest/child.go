package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/session"
)

// childVar is the environment variable that makes a process a child. Its value is the task as
// JSON.
const childVar = "HOLDFAST_CRASH_CHILD"

// errNoMount is the error of a child whose file system could not be mounted.
var errNoMount = errors.New("crashtest: not mounted")

// Task is what a child does.
type Task struct {
	Store    string   // its kind, see OpenStore
	Dir      string   // the store's folder
	Ledger   string   // the ledger's path
	Work     string   // "agent", "log", "reopen" (log, with the store opened for each round), "ask", "answer", "life", "check", "contend" or "fault"
	Sessions []string // used in parallel
	Run      int      // differs for each child, so that ids are never repeated
	Rounds   int      // number of prompts
	NoSync   bool     // makes fsync and fdatasync do nothing
	Early    bool     // report an acknowledgement before the store returns it
	Person   bool     // an approver in the child answers approval requests
	Report   string   // a file to report to, instead of descriptor 3
	Past     string   // for "check": a file with the reports of earlier children
	Disk     string   // a file with a file system, which the child mounts at Mount while it works
	Mount    string
}

// Child runs the task of a child, if this process is a child. In that case it does not return. Call
// it first in TestMain.
func Child() {
	text := os.Getenv(childVar)
	if text == "" {
		return
	}
	report := NewReporter(os.NewFile(3, "report"))
	var t Task
	err := json.Unmarshal([]byte(text), &t)
	if err == nil && t.Report != "" {
		var to *os.File
		to, err = os.OpenFile(t.Report, os.O_WRONLY, 0)
		report = NewReporter(to)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "no task:", err)
		os.Exit(2)
	}
	if err := t.run(context.Background(), report); err != nil {
		report.Failed(err)
		os.Exit(1)
	}
	report.Done()
	os.Exit(0)
}

func (t Task) run(ctx context.Context, report *Reporter) (err error) {
	if t.NoSync {
		if err := ignoreSync(); err != nil {
			return err
		}
	}
	ledger, err := OpenLedger(t.Ledger)
	if err != nil {
		return err
	}
	defer func() { _ = ledger.Close() }()
	work := map[string]func(context.Context, job) error{
		"agent": workAgent, "log": workLog, "ask": workAsk, "answer": workAnswer, "life": workLife, "reopen": workLog,
	}[t.Work]
	if work == nil && t.Work != "check" && t.Work != "contend" && t.Work != "fault" {
		return fmt.Errorf("crashtest: no work %q", t.Work)
	}

	if t.Disk != "" {
		if err := run(ctx, "mount", "-o", "loop", t.Disk, t.Mount); err != nil {
			return fmt.Errorf("%w: %w", errNoMount, err)
		}
		defer func() {
			report.Event(Event{What: WorkDone})
			if e := run(ctx, "umount", t.Mount); err == nil {
				err = e
			}
		}()
	}
	if t.Work != "contend" {
		report.Ready()
	}
	if t.Work == "fault" {
		t.workFault(ctx, report)
		return nil
	}
	times := 1
	if t.Work == "reopen" {
		times, t.Rounds, t.Run = t.Rounds, 1, t.Run*t.Rounds
	}
	for range times {
		t.Run++ // ids of tool uses contain it
		if err = t.inStore(ctx, work, ledger, report); err != nil {
			return err
		}
	}
	return nil
}

// inStore opens the store, calls work and closes the store.
func (t Task) inStore(ctx context.Context, work func(context.Context, job) error, ledger *Ledger, report *Reporter) (err error) {
	store, err := OpenStore(t.Store, t.Dir)
	if err != nil {
		return err
	}
	defer func() {
		if e := CloseStore(store); err == nil {
			err = e
		}
	}()
	switch t.Work {
	case "check":
		return t.check(ctx, store, report)
	case "contend":
		report.Ready()
		return contend(ctx, store, os.Stdin, report)
	}
	var reporting session.Store = reportingAppends{store, report, t.Early}
	if t.Work == "life" {
		reporting = reportingStore{reportingAppends{store, report, t.Early}}
	}
	sessions := session.New(reporting, nil)
	var group errgroup.Group
	for _, id := range t.Sessions {
		group.Go(func() error {
			return work(ctx, job{sessions: sessions, id: id, run: t.Run, rounds: t.Rounds, person: t.Person, ledger: ledger, report: report})
		})
	}
	return group.Wait()
}

// check compares the store with earlier reports, and reports the differences.
func (t Task) check(ctx context.Context, store session.Store, report *Reporter) error {
	f, err := os.Open(t.Past)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	reporting, err := ReadReport(f, func() {})
	if err != nil {
		return err
	}
	found := VerifyPast(ctx, store, AcknowledgedOf(reporting))
	for _, p := range found.Problem {
		report.Fault("%s", p)
	}
	report.Found(found)
	return nil
}

// job is the part of a task for one session.
type job struct {
	sessions *session.Sessions
	id       string
	run      int
	rounds   int
	person   bool
	ledger   *Ledger
	report   *Reporter
}

// use returns a tool use id that no other child creates.
func (j job) use(n int) string { return fmt.Sprintf("use-%s-%d-%d", j.id, j.run, n) }
