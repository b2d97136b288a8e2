package conversation_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/record"
)

// reader is a client that reads a log up to some event, and what it has on its screen.
type reader struct {
	*conversation.Conversation
	answers  []string // complete ones
	pieces   strings.Builder
	finished map[string]bool // tool uses
}

func readLog(t interface{ Fatalf(string, ...any) }, list []*client.Event, after int64) *reader {
	r := &reader{Conversation: conversation.New(options()), finished: map[string]bool{}}
	for _, e := range list {
		for _, u := range r.Apply(e) {
			switch b := u.Block; {
			case u.Discard:
				r.pieces.Reset()
			case b == nil:
				if u.Kind == conversation.Answer {
					r.pieces.WriteString(u.Delta)
				}
			case b.Kind == conversation.Answer:
				if !u.Streamed && r.pieces.Len() > 0 && b.Agent == "" {
					t.Fatalf("after %d: %q was shown and neither discarded nor completed by %q", after, r.pieces.String(), b.Text)
				}
				if rest, ok := strings.CutPrefix(r.pieces.String(), b.Text); u.Streamed && ok {
					r.pieces.Reset()
					r.pieces.WriteString(rest)
				} else if u.Streamed {
					t.Fatalf("after %d: %q was shown, but the answer is %q", after, r.pieces.String(), b.Text)
				}
				if b.Seq > 0 {
					r.answers = append(r.answers, fmt.Sprint(b.Seq, " ", b.Agent, " ", b.Text))
				}
			case b.Kind == conversation.Called && !b.Call.Running:
				r.finished[b.Call.Use] = true
			}
		}
	}
	return r
}

// places returns the seqs of the records that open a call, a question or a queued message, and of
// the last record that says whether the run works.
func places(list []*client.Event) (seqs map[string]int64, works int64) {
	seqs = map[string]int64{}
	for _, e := range list {
		if e.Record == nil {
			continue
		}
		text := string(e.Record.Payload)
		field := func(name string) string {
			_, rest, _ := strings.Cut(text, `"`+name+`":"`)
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
		switch e.Record.Kind {
		case record.KindToolStarted:
			seqs[field("use_id")] = e.Seq
		case record.KindApprovalAsked:
			seqs[field("id")] = e.Seq
		case record.KindTurnOpened, record.KindTurnClosed:
			if e.Record.Session == "" {
				works = e.Seq
			}
		case record.KindRunEvent:
			if strings.Contains(text, `"steering":[`) {
				_, rest, _ := strings.Cut(text, `"steering":["`)
				id, _, _ := strings.Cut(rest, `"`)
				if _, ok := seqs[id]; !ok {
					seqs[id] = e.Seq
				}
			}
			if slices.Contains([]string{"started", "completed", "failed", "cancelled", "interrupted"}, field("event")) {
				works = e.Seq
			}
		}
	}
	return seqs, works
}

// A client that joins at any record, and whose connection breaks anywhere, ends with the state of a
// client that has read everything, as far as the records that it has read tell.
func TestJoinAnywhere(t *testing.T) {
	files := logs(t)
	frames := map[string][]frame{}
	read := map[string][]*client.Event{}
	from := func(file string, after int64) []*client.Event {
		key := fmt.Sprint(file, after)
		if read[key] == nil {
			read[key] = events(t, frames[file], after)
		}
		return read[key]
	}
	for _, f := range files {
		frames[f] = readFrames(t, f)
	}
	rapid.Check(t, func(t *rapid.T) {
		file := rapid.SampledFrom(files).Draw(t, "log")
		last := frames[file][len(frames[file])-1].seq
		after := rapid.Int64Range(0, last-1).Draw(t, "after")
		until := rapid.Int64Range(after+1, last).Draw(t, "until")
		cut := func(list []*client.Event) []*client.Event {
			return slices.DeleteFunc(slices.Clone(list), func(e *client.Event) bool { return e.Seq > until })
		}
		all, part := cut(from(file, 0)), cut(from(file, after))
		seqs, works := places(all)
		for range rapid.IntRange(0, 3).Draw(t, "breaks") {
			at := rapid.IntRange(0, len(part)).Draw(t, "at")
			seq := after
			if at > 0 {
				seq = part[at-1].Seq
			}
			part = slices.Insert(part, at, &client.Event{Lost: true, Seq: seq, Err: errors.New("lost")}, &client.Event{Gap: true, Seq: seq})
		}
		whole, joined := readLog(t, all, 0), readLog(t, part, after)
		name := fmt.Sprintf("%s %d-%d", filepath.Base(file), after, until)
		if missing := slices.DeleteFunc(slices.Clone(whole.answers), func(a string) bool {
			var seq int64
			_, _ = fmt.Sscan(a, &seq)
			return seq <= after
		}); !slices.Equal(missing, joined.answers) {
			t.Fatalf("%s: answers %q, want %q", name, joined.answers, missing)
		}
		w, j := open(whole.State()), open(joined.State())
		for _, id := range w {
			if seqs[id] > after && !slices.Contains(j, id) {
				t.Fatalf("%s: %s is open, and missing", name, id)
			}
		}
		for _, id := range j {
			if !slices.Contains(w, id) {
				t.Fatalf("%s: %s is not open any more", name, id)
			}
		}
		for use := range whole.finished {
			if seqs[use] > after && !joined.finished[use] {
				t.Fatalf("%s: the end of %s is missing", name, use)
			}
		}
		ended := slices.ContainsFunc(all, func(e *client.Event) bool {
			return e.Seq == works && e.Record != nil && e.Record.Kind == record.KindTurnClosed
		})
		if works > after && !ended && whole.State().Working != joined.State().Working {
			t.Fatalf("%s: working %v, want %v", name, joined.State().Working, whole.State().Working)
		}
		if joined.State().Seq != whole.State().Seq {
			t.Fatalf("%s: seq %d, want %d", name, joined.State().Seq, whole.State().Seq)
		}
	})
}

// open lists what waits for an end: calls, questions and queued messages.
func open(s *conversation.State) (ids []string) {
	for _, c := range s.Calls {
		ids = append(ids, c.Use)
	}
	for i := range s.Questions {
		ids = append(ids, s.Questions[i].ID)
	}
	for _, q := range s.Queue {
		ids = append(ids, q.ID)
	}
	return ids
}
