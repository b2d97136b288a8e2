package session_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// outcomes returns what a restored transcript says about the uses that were open: whether they
// ran.
func outcomes(t *testing.T, r *session.Restored) string {
	t.Helper()
	var list []string
	for _, e := range r.Transcript.Items() {
		it := must(e.Decode())(t)
		for _, p := range it.Parts {
			res, ok := p.(transcript.ToolResult)
			if !ok {
				continue
			}
			text := res.Content[0].(transcript.Text).Text
			switch {
			case strings.HasPrefix(text, history.NotRun):
				text = "not run"
			case strings.HasPrefix(text, history.OutcomeUnknownInFork):
				text = "elsewhere"
			case strings.HasPrefix(text, history.OutcomeUnknown):
				text = "unknown"
			}
			list = append(list, res.UseID+" "+text)
		}
	}
	return strings.Join(list, ", ")
}

// A call that was never started did not run, for a fork too. A call that its parent started,
// before or after the fork, may have had effects.
func TestForkReportsWhatRan(t *testing.T) {
	turn := draft(t, record.KindTurnOpened, record.TurnOpened{Turn: "t"})
	round := []session.Draft{turn, userDraft("u", "u"), useDraft("a", "c1", "c2", "c3")}
	for _, c := range []struct {
		name   string
		before []session.Draft // of the parent, when it is forked
		since  []session.Draft // of the parent, before the fork is opened
		at     string
		want   string
	}{
		{"nothing started, the first was asked about", []session.Draft{askDraft("q", "c1")}, nil, "", "c1 not run, c2 not run, c3 not run"},
		{"nothing started, nobody was asked", nil, nil, "", "c1 not run, c2 not run, c3 not run"},
		{
			"in the middle of a round", []session.Draft{startedDraft(t, "c1"), finishedDraft(t, "c1"), resultDraft("r1", "c1"), startedDraft(t, "c2")}, nil, "",
			"c1 done, c2 elsewhere, c3 not run",
		},
		{"the parent went on", []session.Draft{askDraft("q", "c1")}, []session.Draft{startedDraft(t, "c1")}, "", "c1 elsewhere, c2 not run, c3 not run"},
		{
			"cut before the results", []session.Draft{startedDraft(t, "c1"), finishedDraft(t, "c1"), resultDraft("r1", "c1"), resultDraft("r2", "c2")}, nil, "a",
			"c1 elsewhere, c2 not run, c3 not run",
		},
		{
			"cut within a rewrite", []session.Draft{
				startedDraft(t, "c1"), finishedDraft(t, "c1"), resultDraft("r1", "c1"), resultDraft("r2", "c2"), resultDraft("r3", "c3"),
				draft(t, record.KindRewrite, session.Rewrite{Reason: "repair", Messages: 5, Items: rewritten(t, round, resultDraft("r1", "c1"), resultDraft("r2", "c2"), resultDraft("r3", "c3"))}),
			}, nil, "a", "c1 elsewhere, c2 not run, c3 not run",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := session.New(memory.New(), nil)
			l := must(s.Create(t.Context(), session.Opened{SessionID: "s"}))(t)
			defer l.Close()
			must(l.Append(t.Context(), slices.Concat(round, c.before)...))(t)
			fork := must(s.Fork(t.Context(), "s", &session.ForkOptions{ItemID: c.at}))(t)
			of := must(s.Fork(t.Context(), fork, nil))(t)
			if len(c.since) > 0 {
				must(l.Append(t.Context(), c.since...))(t)
			}
			for name, id := range map[string]string{"the fork": fork, "a fork of the fork": of} {
				if got := outcomes(t, restore(t, s, session.RestoreOptions{SessionID: id})); got != c.want {
					t.Errorf("%s is told %q, want %q", name, got, c.want)
				}
			}
		})
	}
}

// rewritten are the items of drafts.
func rewritten(t *testing.T, drafts []session.Draft, more ...session.Draft) (items []json.RawMessage) {
	for _, d := range append(slices.Clone(drafts), more...) {
		if d.Kind == session.KindItem {
			it := must(record.ReadItem(d.Payload))(t)
			items = append(items, it.Item.JSON)
		}
	}
	return items
}

// A call from another program's transcript may have run there.
func TestForeignCallUnknownOutcome(t *testing.T) {
	s := session.New(memory.New(), nil)
	crash(t, s, userDraft("u", "u"), useDraft("a", "c1"))
	if got := outcomes(t, restore(t, s, session.RestoreOptions{SessionID: "s"})); got != "c1 elsewhere" {
		t.Errorf("told %q", got)
	}
}

// After truncating the session itself: what ran, and what was denied.
func TestTruncateReportsWhatRan(t *testing.T) {
	s := session.New(memory.New(), nil)
	crash(t, s, draft(t, record.KindTurnOpened, record.TurnOpened{Turn: "t"}), userDraft("u", "u"), useDraft("a", "c1", "c2"),
		startedDraft(t, "c1"), finishedDraft(t, "c1"), resultDraft("r1", "c1"), resultDraft("r2", "c2"))
	if got := outcomes(t, restore(t, s, session.RestoreOptions{SessionID: "s", ItemID: "a"})); got != "c1 elsewhere, c2 not run" {
		t.Errorf("told %q", got)
	}
}
