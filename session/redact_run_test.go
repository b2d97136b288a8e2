package session_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// ran is a session of a run in which the word private is everywhere: 1 opened, 2 started,
// 3 prompt, 4 input asked, 5 input given, 6 steered, 7 completed.
func ran(t *testing.T, s *session.Sessions) {
	t.Helper()
	l := must(s.Create(t.Context(), session.Opened{SessionID: "s"}))(t)
	defer l.Close()
	event := func(payload string) session.Draft {
		return session.Draft{Kind: record.KindRunEvent, Payload: json.RawMessage(strings.ReplaceAll(payload, "PRIVATE", private))}
	}
	must(l.Append(t.Context(),
		event(`{"event":"started","status":"running","segment":1,"by":"ann","via":"cli","strategy":{"name":"n","source":{"prompt":"know PRIVATE"}},"input":"the word is PRIVATE"}`),
		userDraft("p1", "the word is "+private),
		event(`{"event":"input_asked","agent":"a","input_id":"i1","text":"is it PRIVATE?"}`),
		event(`{"event":"input_given","agent":"a","input_id":"i1","by":"ben","text":"yes"}`),
		event(`{"event":"steered","by":"ann","text":"say: the word is PRIVATE!"}`),
		event(`{"event":"completed","status":"completed","text":"PRIVATE it is"}`),
	))(t)
}

// effective reads a session as it is to be read.
func effective(t *testing.T, s *session.Sessions, id string) map[int64]string {
	t.Helper()
	out := map[int64]string{}
	for r, err := range s.Effective(t.Context(), id, session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		out[r.Seq] = string(r.Payload)
	}
	return out
}

func TestRedactRunMask(t *testing.T) {
	eachStore(t, func(t *testing.T, store session.Store) {
		s := session.New(store, nil)
		ran(t, s)
		got := must(s.Redact(t.Context(), "s", session.RedactOptions{Mask: mask(t)}))(t)
		if len(got.Remaining) != 0 || len(got.Erased) != 5 {
			t.Errorf("%d erased, left %+v", len(got.Erased), got.Remaining)
		}
		if all := everything(t, s, "s"); strings.Contains(all, private) {
			t.Errorf("the word is still there: %s", all)
		}
		if m := sound(t, s, "s").Meta; m.Run != "completed" {
			t.Errorf("the run is %q", m.Run)
		}
		now := effective(t, s, "s")
		var started struct {
			Event, By string
			Strategy  struct{ Source struct{ Prompt string } }
		}
		if err := json.Unmarshal([]byte(now[2]), &started); err != nil || started.Event != "started" || started.By != "ann" || started.Strategy.Source.Prompt == "" {
			t.Errorf("%s, %v", now[2], err)
		}
		if !strings.Contains(now[5], `"text":"yes"`) {
			t.Errorf("what has nothing of it was changed: %s", now[5])
		}
	})
}

func TestRedactRunSeqs(t *testing.T) {
	eachStore(t, func(t *testing.T, store session.Store) {
		s := session.New(store, nil)
		ran(t, s)
		// The prompt: with it goes what repeats it, and nothing else.
		must(s.Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{3}}))(t)
		now := effective(t, s, "s")
		for seq, has := range map[int64]bool{2: false, 3: false, 4: true, 6: false, 7: true} {
			if text := strings.ReplaceAll(now[seq], "know "+private, ""); strings.Contains(text, private) != has {
				t.Errorf("record %d: %s", seq, now[seq])
			}
		}
		for _, want := range []string{`"event":"started"`, `"status":"running"`, `"segment":1`, `"by":"ann"`, `"strategy":{`} {
			if !strings.Contains(now[2], want) {
				t.Errorf("%s is gone from %s", want, now[2])
			}
		}
		must(s.Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{2, 4, 7}}))(t)
		if now = effective(t, s, "s"); strings.Contains(now[4]+now[7], private) || !strings.Contains(now[4], `"input_id":"i1"`) {
			t.Errorf("%s %s", now[4], now[7])
		}
		if m := sound(t, s, "s").Meta; m.Run != "completed" {
			t.Errorf("the run is %q", m.Run)
		}
		if _, ok := session.As[session.Rebuilder](store); ok {
			if m := must(s.Rebuild(t.Context(), "s"))(t); m.Run != "completed" {
				t.Errorf("rebuilt, the run is %q", m.Run)
			}
		}
		// And what comes later counts.
		l := must(s.Open(t.Context(), "s", nil))(t)
		must(l.Append(t.Context(), session.Draft{Kind: record.KindRunEvent, Payload: json.RawMessage(`{"event":"started","status":"running"}`)}))(t)
		l.Close()
		if m := sound(t, s, "s").Meta; m.Run != "running" {
			t.Errorf("started again, the run is %q", m.Run)
		}
	})
}

func TestEffective(t *testing.T) {
	s := session.New(memory.New(), nil)
	ran(t, s)
	before := effective(t, s, "s")
	fork := must(s.Fork(t.Context(), "s", nil))(t)
	must(s.Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{3, 7}}))(t)
	for _, id := range []string{"s", fork} { // a fork reads what is read in its parent
		now := effective(t, s, id)
		if !strings.Contains(now[3], record.Erased) || strings.Contains(now[3], private) {
			t.Errorf("%s: %s", id, now[3])
		}
		if now[5] != before[5] {
			t.Errorf("%s: %s", id, now[5])
		}
	}
	n := 0
	for r, err := range s.Effective(t.Context(), "s", session.Range{After: 2, Until: 3}) {
		if n++; err != nil || r.Seq != 3 || r.Payload == nil {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if n != 1 {
		t.Errorf("%d records", n)
	}
	for _, err := range s.Effective(t.Context(), "none", session.Range{}) {
		if !errors.Is(err, session.ErrNotFound) {
			t.Error(err)
		}
	}
}
