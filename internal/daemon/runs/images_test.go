package runs_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// dot is an image of one pixel.
func dot(t testing.TB, name string) transcript.Media {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	return transcript.Media{Name: name, Data: b}
}

// images returns the names of the images of each user's item that the model has.
func (w *runsEnv) images(id string) (list []string) {
	w.t.Helper()
	for r, err := range w.sessions.Effective(w.t.Context(), id, session.Range{}) {
		w.ok(err)
		if r.Kind != session.KindItem {
			continue
		}
		stored, err := record.ReadItem(r.Payload)
		w.ok(err)
		it, err := stored.Item.Decode()
		w.ok(err)
		if it.Role != transcript.RoleUser || stored.Queued {
			continue
		}
		names := ""
		for _, p := range it.Parts {
			if m, ok := p.(transcript.Media); ok && m.MIME == "image/png" && len(m.Data) > 0 {
				names += m.Name + " "
			}
		}
		list = append(list, strings.TrimSpace(names))
	}
	return list
}

// Images of the input, of steering and of a continuation reach the model with their texts. The
// secret in a name is masked.
func TestImages(t *testing.T) {
	w := begin(t, map[string]string{"writer": `
steps:
  - tool_uses: [{id: u1, tool: Bash, input: {command: git push}}]
  - expect: {user: user_steering}
    text: heeded
  - text: again
`})
	id := w.prepare(single())
	w.ok(w.runs.Start(t.Context(), id, "look", "", ann, dot(t, "a.png")))
	v := w.watch(id, 0)
	q := v.approval()
	s, err := w.runs.Steer(t.Context(), id, "and this", "", ann, dot(t, "b.png"), dot(t, "c.png"))
	w.ok(err)
	if e := v.event(wire.RunSteered); len(e.Images) != 2 || e.Images[0].Name != "b.png" || !slices.Equal(e.Steering, []string{s}) {
		t.Errorf("%+v", e)
	}
	_, err = w.runs.Decide(t.Context(), id, decision(q, approval.Allow), "")
	w.ok(err)
	v.event(wire.RunCompleted)
	w.waitEnded(id)
	w.ok(w.runs.Continue(t.Context(), id, "", "", ann, dot(t, "d.png")))
	v.event(wire.RunCompleted)
	if got := w.images(id); !slices.Equal(got, []string{"a.png", "b.png c.png", "d.png"}) {
		t.Errorf("%q", got)
	}
}

// After a crash, the model gets the images of the input and of the steering that it does not have yet.
func TestImagesAfterCrash(t *testing.T) {
	w, h := beginHooked(t, "steps:\n  - text: seen\n")
	broken := make(chan struct{})
	h.set(func(_ string, r session.Record) error {
		if r.Kind == session.KindItem { // the store is lost before the item of the input is stored
			<-broken
			return session.ErrUnavailable
		}
		return nil
	})
	id := w.prepare(single())
	w.ok(w.runs.Start(t.Context(), id, "look", "", ann, dot(t, "a.png")))
	v := w.watch(id, 0)
	v.event(wire.RunStepStarted)
	_, err := w.runs.Steer(t.Context(), id, "and this", "", ann, dot(t, "b.png"))
	w.ok(err)
	close(broken)
	w.waitEnded(id)
	h.set(nil)
	w.restart()
	v = w.watch(id, 0)
	w.ok(w.runs.Continue(t.Context(), id, "this too", "", ann, dot(t, "c.png")))
	v.event(wire.RunCompleted)
	if got := w.images(id); !slices.Equal(got, []string{"a.png b.png c.png"}) {
		t.Errorf("%q", got)
	}
}

func TestImagesRefused(t *testing.T) {
	w := begin(t, map[string]string{"writer": "steps:\n  - tool_uses: [{id: u1, tool: Bash, input: {command: git push}}]\n"})
	id := w.prepare(single())
	w.wantCode(w.runs.Start(t.Context(), id, "go", "", ann, transcript.Media{Data: []byte("text")}), wire.CodeStartFailed)
	w.ok(w.runs.Start(t.Context(), id, "go", "", ann))
	v := w.watch(id, 0)
	v.approval()
	_, err := w.runs.Steer(t.Context(), id, "see", "", ann, transcript.Media{Data: []byte("text")})
	w.wantCode(err, wire.CodeValidation)
	for range 2 {
		_, err = w.runs.Steer(t.Context(), id, "see", "", ann, slices.Repeat([]transcript.Media{dot(t, "a.png")}, 11)...)
	}
	w.wantCode(err, wire.CodeConflict) // otherwise the agent would get 22 images at once
	several := w.prepare(w.parse(`
name: two
version: "1"
agents: {writer: {type: llm}, checker: {type: llm}}
flow: {sequence: [writer, checker]}
`))
	err = w.runs.Start(t.Context(), several, "go", "", ann, dot(t, "a.png"))
	if err == nil || !strings.Contains(err.Error(), "takes no images") {
		t.Error(err)
	}
}
