package crashtest

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestReportRoundTrip(t *testing.T) {
	var pipe strings.Builder
	w := NewReporter(&pipe)
	rec := session.Record{Seq: 7, ID: "r7", Kind: session.KindItem}
	rec.Seal(session.Digest{})
	w.Ready()
	w.Acked("s1", []session.Record{rec})
	w.Resumed("s1")
	w.Recovered(nil)
	w.Recovered(&session.Recovery{Session: "s1", Head: 7, CutBytes: 12, TailFile: "tail"})
	w.Fault("two\nlines")
	w.Failed(session.ErrFull)
	w.Done()

	ready := 0
	got, err := ReadReport(strings.NewReader(pipe.String()), func() { ready++ })
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Acks) != 1 || got.Acks[0].At == 0 {
		t.Fatalf("got %+v", got)
	}
	want := Ack{Session: "s1", Seq: 7, ID: "r7", Digest: rec.Digest, At: got.Acks[0].At}
	if !got.Ready || ready != 1 || !got.Done || !slices.Equal(got.Acks, []Ack{want}) || got.Resumed != 1 {
		t.Errorf("got %+v", got)
	}
	if len(got.Cut) != 1 || !slices.Equal(got.Faults, []string{"two / lines"}) || !slices.Equal(got.Failed, []string{"no space left"}) {
		t.Errorf("got %+v", got)
	}
}

func TestReportKilledChild(t *testing.T) {
	var pipe strings.Builder
	NewReporter(&pipe).Acked("s1", []session.Record{{Seq: 1, ID: "a"}, {Seq: 2, ID: "b"}})
	for n := range pipe.Len() {
		got, err := ReadReport(strings.NewReader(pipe.String()[:n]), func() {})
		if err != nil || got.Done || len(got.Acks) != strings.Count(pipe.String()[:n], "\n") {
			t.Fatalf("after %d bytes: %+v, %v", n, got, err)
		}
	}
	for _, s := range []string{"nonsense\n", "ack s1 x\n", "ack s1 1 id 00\n"} {
		if _, err := ReadReport(strings.NewReader(s), func() {}); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}

func TestReportSplit(t *testing.T) {
	r := Report{Acks: []Ack{{Seq: 1, At: 10}, {Seq: 2, At: 20}, {Seq: 3, At: 30}}}
	if before, late := r.Split(); len(before) != 3 || late != nil {
		t.Errorf("nothing struck, and got %v, %v", before, late)
	}
	r.KilledAt = 20
	if before, late := r.Split(); !slices.Equal(before, r.Acks[:1]) || !slices.Equal(late, r.Acks[1:]) {
		t.Errorf("got %v, %v", before, late)
	}
}

func TestLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	if err := os.WriteFile(path, []byte("s a 10\ns b 20\ns a 20\nz c 30\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		since int64
		want  map[string]Runs
	}{
		{31, map[string]Runs{"a": {Times: 2}, "b": {Times: 1}}},
		{20, map[string]Runs{"a": {Times: 2, Late: true}, "b": {Times: 1, Late: true}}},
	} {
		if err := MarkLate(path, tt.since); err != nil {
			t.Fatal(err)
		}
		got, err := ReadLedger(path)
		if err != nil || !maps.Equal(got["s"], tt.want) || got["z"]["c"].Times != 1 {
			t.Errorf("since %d: got %v, %v", tt.since, got, err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || len(b) != 4*noteSize {
		t.Errorf("four notes are %d bytes long, %v", len(b), err)
	}
	ledger, err := OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ledger.Close() }()
	if err := ledger.Note("s", strings.Repeat("x", noteSize)); err == nil {
		t.Error("a note that may tear is accepted")
	}
	if err := os.WriteFile(path, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLedger(path); err == nil {
		t.Error("a torn note is accepted")
	}
}

func TestCheckPairing(t *testing.T) {
	user := transcript.UserText("hi")
	uses := func(ids ...string) transcript.Item {
		it := transcript.Item{Role: transcript.RoleAssistant}
		for _, id := range ids {
			it.Parts = append(it.Parts, transcript.ToolUse{ID: id, Name: "T", Input: []byte(`{}`)})
		}
		return it
	}
	result := func(id string) transcript.Item { return transcript.ToolResult{UseID: id}.Item() }
	for _, tt := range []struct {
		name  string
		items []transcript.Item
		fault string
	}{
		{"empty", nil, ""},
		{"answered", []transcript.Item{user, uses("a", "b"), result("b"), result("a"), user}, ""},
		{"dangling", []transcript.Item{user, uses("a")}, "never got a result"},
		{"half", []transcript.Item{uses("a", "b"), result("a")}, "never got a result"},
		{"between", []transcript.Item{uses("a"), user, result("a")}, "waits for its result"},
		{"orphan", []transcript.Item{user, result("a")}, "no open tool use"},
		{"twice", []transcript.Item{uses("a"), result("a"), result("a")}, "no open tool use"},
		{"again", []transcript.Item{uses("a"), result("a"), uses("a"), result("a")}, "again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var items []transcript.Encoded
			for _, it := range tt.items {
				items = append(items, it.MustEncode())
			}
			err := CheckPairing(items)
			if (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("got %v, want %q", err, tt.fault)
			}
		})
	}
}

// Verify must find each kind of damage, or a passing run proves nothing.
func TestVerifySeesDamage(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, acked Evidence, ledger *Ledger)
		want   string
	}{
		{"none", func(*testing.T, Evidence, *Ledger) {}, ""},
		{"record lost", func(_ *testing.T, e Evidence, _ *Ledger) {
			e.Add([]Ack{{Session: "s", Seq: 99, ID: "x"}})
		}, "is missing"},
		{"record changed", func(_ *testing.T, e Evidence, _ *Ledger) {
			a := e["s"][2]
			a.Digest[0] ^= 1
			e.Add([]Ack{a})
		}, "not the one"},
		{"session lost", func(_ *testing.T, e Evidence, _ *Ledger) {
			e.Add([]Ack{{Session: "gone", Seq: 1, ID: "x"}})
		}, "no such session"},
		{"tool repeated", func(t *testing.T, _ Evidence, l *Ledger) { note(t, l, "use-s-1-1") }, "ran 2 times"},
		{"start missing", func(t *testing.T, _ Evidence, l *Ledger) { note(t, l, "use-s-1-99") }, "start is not recorded"},
		{"lie about a run", func(t *testing.T, _ Evidence, l *Ledger) {
			if err := l.f.Truncate(0); err != nil {
				t.Fatal(err)
			}
		}, "told that use-s-1-1 ran"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := memory.New()
			path := filepath.Join(t.TempDir(), "ledger")
			ledger, err := OpenLedger(path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = ledger.Close() }()
			acked := work(t, store, ledger)
			tt.damage(t, acked, ledger)
			f, err := Verify(t.Context(), store, acked, path)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(f.Problem, "\n")
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// work runs both kinds of work in this process and returns what was acknowledged.
func work(t *testing.T, store session.Store, ledger *Ledger) Evidence {
	t.Helper()
	var pipe strings.Builder
	report := NewReporter(&pipe)
	sessions := session.New(reportingAppends{Store: store, report: report}, nil)
	for i, f := range []func(context.Context, job) error{workLog, workAgent} {
		if err := f(t.Context(), job{sessions: sessions, id: "s", run: i + 1, rounds: 2, ledger: ledger, report: report}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadReport(strings.NewReader(pipe.String()), func() {})
	if err != nil || got.Resumed != 2 || len(got.Faults) > 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	acked := Evidence{}
	acked.Add(got.Acks)
	return acked
}

func note(t *testing.T, l *Ledger, use string) {
	t.Helper()
	if err := l.Note("s", use); err != nil {
		t.Fatal(err)
	}
}

// A child that cannot do its task reports why.
func TestLaunchReportsFailure(t *testing.T) {
	task := Task{Store: "paper", Work: "log", Dir: t.TempDir(), Ledger: filepath.Join(t.TempDir(), "ledger")}
	report, err := Launch(t.Context(), task, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report.Done || len(report.Failed) != 1 || !strings.Contains(report.Failed[0], `no store "paper"`) {
		t.Errorf("got %+v", report)
	}
	task.Work = "play"
	if report, err = Launch(t.Context(), task, time.Hour, nil); err != nil || report.Ready || len(report.Failed) != 1 {
		t.Errorf("got %+v, %v", report, err)
	}
}
