package modeltest

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Ask sends items to m and returns the deltas, the answer and the error.
func Ask(t testing.TB, m model.Model, items ...transcript.Item) ([]model.Event, transcript.Item, error) {
	t.Helper()
	return Stream(t, m, &model.Request{Messages: EncodeAll(t, m, items...)})
}

// EncodeAll returns items as m sends them.
func EncodeAll(t testing.TB, m model.Model, items ...transcript.Item) []model.EncodedItem {
	t.Helper()
	var out []model.EncodedItem
	for _, it := range items {
		w, err := m.Encode(it.MustEncode())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, w)
	}
	return out
}

// Stream sends a request to m and returns the events. No event may come after the answer.
func Stream(t testing.TB, m model.Model, req *model.Request) (deltas []model.Event, answer transcript.Item, err error) {
	t.Helper()
	answered := false
	for e, err := range m.Stream(t.Context(), req) {
		switch e := e.(type) {
		case nil:
			return deltas, answer, err
		case model.Answer:
			answered, answer = true, e.Item
		default:
			if answered {
				t.Errorf("%+v came after the answer", e)
			}
			deltas = append(deltas, e)
		}
	}
	if !answered {
		t.Error("neither an answer nor an error")
	}
	return deltas, answer, nil
}

func textOf(deltas []model.Event) string {
	var b strings.Builder
	for _, d := range deltas {
		if text, ok := d.(model.TextDelta); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}
