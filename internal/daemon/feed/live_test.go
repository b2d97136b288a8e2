package feed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/deltas"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
	"pgregory.net/rapid"
)

// A subscriber gets the text so far, even if the session had no subscriber before.
func TestTextSoFar(t *testing.T) {
	h := open(t, nil)
	h.begin()
	h.hub.Publish("s", "a", event.ThinkingDelta{Text: "hm"})
	h.hub.Publish("s", "a", event.ThinkingDelta{Text: "m"})
	h.publish("x")
	h.publish("y")
	h.hub.Publish("s", "b", event.ModelStarted{})
	h.hub.Publish("s", "b", event.TextDelta{Text: "other"})
	h.hub.Publish("s", "", event.ToolOutputDelta{Use: "u", Text: "out"})
	h.hub.Publish("s", "", event.ToolOutputDelta{Use: "u", Text: "put"})
	h.expect(h.subscribe(0), "1 caught_up@1 model_started@1 hmm@1 xy@1 model_started@1 other@1 output@1")
	h.add(h.log, item(1)) // a record of something else
	late := h.subscribe(FromEnd)
	h.publish("z")
	h.end()
	h.add(h.log, item(2))
	h.expect(late, "caught_up@2 model_started@2 hmm@2 xy@2 model_started@2 other@2 output@2 z@2 model_finished@2 3")
	h.hub.Publish("s", "b", event.ModelRetrying{})
	h.expect(h.subscribe(FromEnd), "caught_up@3 output@3")
	h.hub.Publish("s", "", event.ToolFinished{Use: "u"})
	h.begin()
	h.hub.Ended("s")
	s := h.subscribe(FromEnd)
	h.add(h.log, item(3))
	h.expect(s, "caught_up@3 4")
}

// What is kept of a text is limited.
func TestTextSoFarIsLimited(t *testing.T) {
	h := open(t, nil)
	h.begin()
	for range maxText/1000 + 1 {
		h.publish(strings.Repeat("x", 1000))
	}
	for i := range 40 {
		h.hub.Publish("s", "a", event.ToolOutputDelta{Use: "u", Text: strings.Repeat("é", 5000)})
		if n := cap(h.hub.live["s"].outputs[0].text); n > 4*maxOutput {
			t.Fatalf("%d bytes of output are kept after %d pieces", n, i)
		}
	}
	s := h.subscribe(FromEnd)
	h.expect(s, "caught_up@1 "+strings.Repeat("é", maxOutput/2)+"@1")
	if len(h.hub.live["s"].answers) != 0 {
		t.Error("a text above the limit is kept")
	}
	h.publish("end")
	h.expect(s, "end@1")
}

// joiner is a client that assembles the answers of the agents from deltas, as docs/reference/http.md
// says.
type joiner struct {
	s     *Subscription
	after int64
	texts map[string]*deltas.Text // by agent; nil until the answer begins
}

func (j *joiner) apply(e *Event) error {
	switch e.Kind {
	case Delta:
		switch d := e.Delta.(type) {
		case event.ModelStarted:
			j.texts[e.Agent] = new(deltas.Text)
		case event.ModelRetrying:
			delete(j.texts, e.Agent)
		case event.TextDelta, event.ThinkingDelta:
			t := j.texts[e.Agent]
			if t == nil {
				return fmt.Errorf("the text of %s does not begin with its beginning, but with %v", e.Agent, d)
			}
			t.Add(d)
		}
	case Durable:
		if e.Seq != j.after+1 {
			return fmt.Errorf("record %d arrived after %d", e.Seq, j.after)
		}
		j.after = e.Seq
		for _, r := range e.Records {
			it, err := record.ReadItem(r.Payload)
			if r.Kind != session.KindItem || err != nil || it.Item.Role() != transcript.RoleAssistant {
				continue
			}
			agent, want, _ := strings.Cut(it.Item.Text(), ":")
			if t := j.texts[agent]; t != nil && t.Answer() != want { // otherwise the subscriber joined after its end
				return fmt.Errorf("the deltas of %s make %q, but its answer is %q", agent, t.Answer(), want)
			}
			delete(j.texts, agent)
		}
	case Gap:
		clear(j.texts)
	case CaughtUp:
	}
	return nil
}

// Whenever clients join and reconnect, the deltas that they get make the text of each answer.
func TestTextsFromRandomJoins(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := open(t, &Options{BufferSize: rapid.IntRange(1, 12).Draw(rt, "ring")})
		defer h.hub.Close()
		defer h.log.Close()
		writer := h.create("w")
		defer writer.Close()
		whole := map[string]*deltas.Text{}
		var clients []*joiner
		agent := func(rt *rapid.T) string { return rapid.SampledFrom([]string{"a", "w"}).Draw(rt, "agent") }
		read := func(j *joiner, until int64) {
			for j.after < until || j.s.catching || len(j.s.texts) > 0 {
				e, err := j.s.Next(context.Background())
				if err == nil {
					err = j.apply(e)
				}
				if err != nil {
					rt.Fatal(err)
				}
			}
		}
		// check compares what a client that is up to date has with what was published.
		check := func(j *joiner) {
			read(j, h.log.Head())
			h.add(h.log, item(1)) // so that everything before it is sent
			read(j, h.log.Head())
			for name, t := range whole {
				if got := j.texts[name]; got == nil || !slices.Equal(got.Events(), t.Events()) {
					rt.Fatalf("the client has %v of %s, but the text is %v", got, name, t.Events())
				}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"begin": func(rt *rapid.T) {
				name := agent(rt)
				whole[name] = new(deltas.Text)
				h.hub.Publish("s", name, event.ModelStarted{})
			},
			"write": func(rt *rapid.T) {
				name := agent(rt)
				for range rapid.IntRange(1, 6).Draw(rt, "deltas") {
					if whole[name] == nil {
						return
					}
					d := rapid.SampledFrom([]event.Event{event.TextDelta{Text: "x"}, event.TextDelta{Text: "yz"}, event.ThinkingDelta{Text: "hm"}}).Draw(rt, "delta")
					whole[name].Add(d)
					h.hub.Publish("s", name, d)
				}
			},
			"retry": func(rt *rapid.T) {
				name := agent(rt)
				delete(whole, name)
				h.hub.Publish("s", name, event.ModelRetrying{})
			},
			"end": func(rt *rapid.T) {
				name := agent(rt)
				if whole[name] == nil {
					return
				}
				answer := session.ItemDraft(transcript.Item{
					ID: "i", Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: name + ":" + whole[name].Answer()}},
				}.MustEncode(), false, nil)
				delete(whole, name)
				h.hub.Publish("s", name, event.ModelFinished{})
				if name == "a" {
					h.add(h.log, answer)
					return
				}
				seq := h.add(writer, answer)[0].Seq
				h.add(h.log, relayed(t, "w", seq, seq))
			},
			"other record": func(*rapid.T) { h.add(h.log, item(1)) },
			"join": func(rt *rapid.T) {
				after := rapid.Int64Range(0, h.log.Head()).Draw(rt, "after")
				s, err := h.hub.Subscribe(context.Background(), "s", after)
				if err != nil {
					rt.Fatal(err)
				}
				clients = append(clients, &joiner{s: s, after: after, texts: map[string]*deltas.Text{}})
			},
			"reconnect": func(rt *rapid.T) {
				if len(clients) == 0 {
					return
				}
				j := rapid.SampledFrom(clients).Draw(rt, "client")
				j.s.Close()
				clear(j.texts)
				var err error
				if j.s, err = h.hub.Subscribe(context.Background(), "s", j.after); err != nil {
					rt.Fatal(err)
				}
			},
			"read": func(rt *rapid.T) {
				if len(clients) > 0 {
					j := rapid.SampledFrom(clients).Draw(rt, "client")
					read(j, rapid.Int64Range(j.after, h.log.Head()).Draw(rt, "until"))
				}
			},
			"check": func(rt *rapid.T) {
				if len(clients) > 0 {
					check(rapid.SampledFrom(clients).Draw(rt, "client"))
				}
			},
		})
		for _, j := range clients {
			check(j)
			j.s.Close()
		}
	})
}

// The output of a sub-agent's call is kept as that of the agent's own calls.
func TestOutputOfSubagent(t *testing.T) {
	h := open(t, nil)
	of := func(session string, e event.Event) {
		h.hub.Publish("s", "a", event.SubagentEvent{Use: "d", Session: session, Name: "scout", Event: e})
	}
	h.hub.Publish("s", "a", event.ToolOutputDelta{Use: "u", Text: "own"})
	of("s2", event.ToolOutputDelta{Use: "u", Text: "out"})
	of("s2", event.ToolOutputDelta{Use: "u", Text: "put"})
	of("s3", event.ToolOutputDelta{Use: "u", Text: "other"})
	of("s3", event.ToolFinished{Use: "u"})
	s := h.subscribe(FromEnd)
	h.expect(s, "caught_up@1 own@1")
	e, err := s.Next(t.Context())
	want := event.SubagentEvent{Use: "d", Session: "s2", Name: "scout", Event: event.ToolOutputDelta{Use: "u", Text: "output"}}
	if err != nil || e.Delta != want {
		t.Errorf("%+v, %v", e, err)
	}
	h.hub.Publish("s", "a", event.ToolFinished{Use: "u"})
	h.add(h.log, item(1))
	h.expect(s, "2")
}
