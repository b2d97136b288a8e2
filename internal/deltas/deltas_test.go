package deltas_test

import (
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/deltas"
)

func TestText(t *testing.T) {
	var text deltas.Text
	pieces := []event.Event{
		event.ThinkingDelta{Text: "h"}, event.ThinkingDelta{Text: "m"}, event.TextDelta{Text: "a"}, event.TextDelta{Text: "bc"},
		event.ToolInputDelta{Use: "u", Tool: "Bash", JSON: "{"}, event.ToolInputDelta{Use: "u", Tool: "Bash", JSON: "}"}, event.TextDelta{Text: "d"},
	}
	for _, e := range pieces {
		kind, piece := deltas.Split(e)
		if deltas.Join(kind, piece) != e {
			t.Errorf("%v is split into %v and %q", e, kind, piece)
		}
		text.Add(e)
	}
	want := []event.Event{
		event.ThinkingDelta{Text: "hm"}, event.TextDelta{Text: "abc"}, event.ToolInputDelta{Use: "u", Tool: "Bash", JSON: "{}"}, event.TextDelta{Text: "d"},
	}
	if got := text.Events(); !slices.Equal(got, want) || text.Answer() != "abcd" || text.Size() != 8 {
		t.Errorf("%v, %q, %d bytes", got, text.Answer(), text.Size())
	}
	if kind, _ := deltas.Split(event.ModelStarted{}); kind != nil {
		t.Errorf("the start of a model call is split: %v", kind)
	}
}

func TestSkip(t *testing.T) {
	var text deltas.Text
	text.Add(event.ThinkingDelta{Text: "hm"})
	text.Add(event.TextDelta{Text: "abc"})
	for _, c := range []struct {
		name   string
		pieces []event.Event
		rest   event.Event // of the last piece
		ok     bool
		until  int // bytes
	}{
		{"the same", text.Events(), nil, true, 5},
		{"a part", []event.Event{event.ThinkingDelta{Text: "h"}, event.ThinkingDelta{Text: "m"}, event.TextDelta{Text: "a"}}, nil, true, 3},
		{"more", []event.Event{event.ThinkingDelta{Text: "hm"}, event.TextDelta{Text: "abcd"}}, event.TextDelta{Text: "d"}, true, 5},
		{"more thinking", []event.Event{event.ThinkingDelta{Text: "hmm"}}, nil, false, 0},
		{"another text", []event.Event{event.ThinkingDelta{Text: "hm"}, event.TextDelta{Text: "abx"}}, nil, false, 2},
		{"another kind", []event.Event{event.TextDelta{Text: "h"}}, nil, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var at deltas.Position
			var rest event.Event
			ok := true
			for i, e := range c.pieces {
				if rest, ok = text.Skip(&at, e); rest != nil && i < len(c.pieces)-1 {
					t.Errorf("after piece %d remains %v", i, rest)
				}
			}
			if rest != c.rest || ok != c.ok || text.Until(at).Size() != c.until {
				t.Errorf("%v, %v, until %d", rest, ok, text.Until(at).Size())
			}
		})
	}
}
