package crashtest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// Check must find each fault, or a passing run proves nothing.
func TestApprovalStateCheck(t *testing.T) {
	yes := []approval.Answer{{Decision: approval.Allow}}
	no := []approval.Answer{{Decision: approval.Deny}}
	once := Runs{Times: 1}
	for _, tt := range []struct {
		name  string
		asked ApprovalState
		over  bool
		stage string
		fault string
	}{
		{"open", ApprovalState{}, false, "open", ""},
		{"open at the end", ApprovalState{}, true, "open", "never answered"},
		{"answered", ApprovalState{Answers: yes}, false, "answered", ""},
		{"answered twice", ApprovalState{Answers: append(yes, no...)}, false, "answered", "2 answers"},
		{"running", ApprovalState{Answers: yes, Started: 1}, false, "running", ""},
		{"started before the answer", ApprovalState{Answers: yes, Started: 1, Early: true}, false, "running", "before there was an answer"},
		{"started twice", ApprovalState{Answers: yes, Started: 2}, false, "running", "started 2 times"},
		{"ran twice", ApprovalState{Answers: yes, Started: 1, Runs: Runs{Times: 2}}, false, "running", "ran 2 times"},
		{"ran without a start", ApprovalState{Answers: yes, Runs: once}, false, "answered", "its start is not recorded"},
		{"denied and started", ApprovalState{Answers: no, Started: 1}, false, "running", "denied and started"},
		{"denied", ApprovalState{Answers: no, Result: "permission denied"}, true, "done", ""},
		{"ran", ApprovalState{Answers: yes, Started: 1, Runs: once, Result: "ran"}, true, "done", ""},
		{"no result", ApprovalState{Answers: yes, Started: 1, Runs: once}, true, "running", "no result"},
		{"never ran", ApprovalState{Answers: yes, Result: history.NotRun}, true, "done", "allowed but never ran"},
		{"cut off", ApprovalState{Answers: yes, Started: 1, Result: history.OutcomeUnknown}, true, "done", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.asked.Stage(); got != tt.stage {
				t.Errorf("stage %s, want %s", got, tt.stage)
			}
			err := tt.asked.Check(tt.over)
			if (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("got %v, want %q", err, tt.fault)
			}
		})
	}
}

// An undisturbed run has approval requests with both outcomes and no fault.
func TestReadApprovals(t *testing.T) {
	store := memory.New()
	path := filepath.Join(t.TempDir(), "ledger")
	ledger, err := OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ledger.Close() }()
	sessions := session.New(store, nil)
	allowed, denied := 0, 0
	for run := 0; (allowed == 0 || denied == 0) && run < 40; run++ {
		j := job{sessions: sessions, id: "s", run: run, rounds: 1, person: true, ledger: ledger, report: NewReporter(&strings.Builder{})}
		if err := workAsk(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		list, _, err := ReadApprovals(t.Context(), store, "s", "s", path)
		if err != nil || len(list) < run+1 {
			t.Fatalf("%d questions after %d runs, %v", len(list), run+1, err)
		}
		last := list[len(list)-1]
		if err := last.Check(true); err != nil || last.Stage() != "done" {
			t.Fatalf("%s: %v", last.Stage(), err)
		}
		if last.Answers[0].Decision.Allows() {
			allowed++
		} else {
			denied++
		}
	}
	if allowed == 0 || denied == 0 {
		t.Errorf("%d allowed, %d denied", allowed, denied)
	}
}
