package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/session"
)

// childVar is the environment variable that makes a process a child.
const childVar = "HOLDFAST_CRASH_CHILD"

// Task is what a child does.
type Task struct {
	Store    string   // its kind
	Dir      string   // its folder
	Ledger   string   // the ledger's path
	Work     string   // "agent", "log", "ask" or "answer"
	Sessions []string // worked on side by side
	Run      int      // differs from child to child, for ids that never repeat
	Rounds   int      // prompts before it is done
	NoSync   bool     // make fsync and fdatasync do nothing
	Early    bool     // acknowledge before the store does
	Person   bool     // somebody is there who answers questions
}

// Child runs a child's task when this process is one, and does not return then.
// Call it first thing in TestMain.
func Child() {
	text := os.Getenv(childVar)
	if text == "" {
		return
	}
	report := NewReporter(os.NewFile(3, "report"))
	var t Task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		report.Fault("no task: %v", err)
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
		"agent": workAgent, "log": workLog, "ask": workAsk, "answer": workAnswer,
	}[t.Work]
	if work == nil {
		return fmt.Errorf("crashtest: no work %q", t.Work)
	}

	report.Ready()
	store, err := OpenStore(t.Store, t.Dir)
	if err != nil {
		return err
	}
	defer func() {
		if e := CloseStore(store); err == nil {
			err = e
		}
	}()
	sessions := session.New(acking{store, report, t.Early}, nil)
	var group errgroup.Group
	for _, id := range t.Sessions {
		group.Go(func() error {
			return work(ctx, job{sessions: sessions, id: id, run: t.Run, rounds: t.Rounds, person: t.Person, ledger: ledger, report: report})
		})
	}
	return group.Wait()
}

// job is one session's share of a task.
type job struct {
	sessions *session.Sessions
	id       string
	run      int
	rounds   int
	person   bool
	ledger   *Ledger
	report   *Reporter
}

// use makes the id of a tool use that no other child makes.
func (j job) use(n int) string { return fmt.Sprintf("use-%s-%d-%d", j.id, j.run, n) }
