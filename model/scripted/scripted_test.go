package scripted

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// conversation is a transcript that grows by what a model answers.
type conversation struct {
	t     *testing.T
	items []transcript.Encoded
}

func (k *conversation) add(it transcript.Item) {
	k.t.Helper()
	it.ID = fmt.Sprintf("i%d", len(k.items))
	e, err := it.Encode()
	if err != nil {
		k.t.Fatal(err)
	}
	k.items = append(k.items, e)
}

func (k *conversation) user(text string) { k.add(transcript.UserText(text)) }

// answer gives every open use the same result.
func (k *conversation) answer(text string, isError bool) {
	for _, u := range k.items[len(k.items)-1].Uses() {
		k.add(transcript.ToolResult{
			UseID: u.ID, IsError: isError, Content: []transcript.Part{transcript.Text{Text: text}},
		}.Item())
	}
}

func (k *conversation) request(m model.Model) *model.Request {
	k.t.Helper()
	req := &model.Request{}
	for _, e := range k.items {
		w, err := m.Encode(e)
		if err != nil {
			k.t.Fatal(err)
		}
		req.Messages = append(req.Messages, w)
	}
	return req
}

// next lets m answer and keeps the answer.
func (k *conversation) next(m model.Model) transcript.Item {
	k.t.Helper()
	_, it, err := stream(k.t.Context(), m, k.request(m))
	if err != nil {
		k.t.Fatal(err)
	}
	k.add(it)
	return it
}

// stream collects what a model says to a request.
func stream(ctx context.Context, m model.Model, req *model.Request) (deltas []model.Event, it transcript.Item, err error) {
	for ev, e := range m.Stream(ctx, req) {
		if e != nil {
			return deltas, it, e
		}
		if a, ok := ev.(model.Answer); ok {
			it = a.Item
			continue
		}
		deltas = append(deltas, ev)
	}
	return deltas, it, nil
}

func modelOf(t *testing.T, play string, o *Options) model.Model {
	t.Helper()
	m, err := New([]byte(play), o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func failure(t *testing.T, err error) *model.Error {
	t.Helper()
	me, ok := errors.AsType[*model.Error](err)
	if !ok {
		t.Fatalf("the error is %T: %v", err, err)
	}
	return me
}

const mending = `
steps:
  - name: look
    text: I look.
    tool_uses: [{tool: Bash, input: {command: ls}}]
  - name: edit
    tool_uses: [{tool: Edit, input: {file_path: a, old_string: x, new_string: y}}]
  - name: check
    when: {result: outcome unknown}
    text: Was it done?
    tool_uses: [{tool: Read, input: {file_path: a}}]
  - name: end
    text: Done.
`

func TestStepsInOrder(t *testing.T) {
	m := modelOf(t, mending, nil)
	k := &conversation{t: t}
	k.user("mend it")
	var said []string
	for range 2 {
		k.next(m)
		k.answer("fine", false)
	}
	said = append(said, k.next(m).Text())
	if said[0] != "Done." {
		t.Errorf("an undisturbed run ends with %q", said)
	}
	k.user("more")
	_, _, err := stream(t.Context(), m, k.request(m))
	if e := failure(t, err); e.Kind != model.ErrorInvalid || !strings.Contains(e.Message, `user "more", after step end`) {
		t.Errorf("after the last step: %v", err)
	}
}

// Every step is asked of a model of its own, as after a crash.
func TestANewProcessGoesOn(t *testing.T) {
	k := &conversation{t: t}
	k.user("mend it")
	for _, want := range []struct{ tool, result string }{
		{"Bash", "fine"}, {"Edit", history.OutcomeUnknown}, {"Read", "y"}, {"", ""},
	} {
		it := k.next(modelOf(t, mending, nil))
		if want.tool == "" {
			if it.Text() != "Done." {
				t.Errorf("the end is %q", it.Text())
			}
			return
		}
		if uses := it.ToolUses(); len(uses) != 1 || uses[0].Name != want.tool {
			t.Fatalf("want a use of %s, have %v", want.tool, uses)
		}
		k.answer(want.result, false)
	}
}

// Answers without a mark, of other models or broken off, count as a step each.
func TestAnswersWithoutAMark(t *testing.T) {
	m := modelOf(t, "steps: [{text: a}, {text: b, when: {user: zzz}}, {text: c}, {text: d}]", nil)
	k := &conversation{t: t}
	k.user("1")
	k.add(transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "foreign"}}})
	k.user("2")
	if got := k.next(m).Text(); got != "c" {
		t.Errorf("after one foreign answer comes %q", got)
	}
	k.add(transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "broken o"}}})
	k.user("3")
	if _, _, err := stream(t.Context(), m, k.request(m)); err == nil {
		t.Error("the broken answer did not count")
	}
}

// After compaction no answer may be left; conditions find their step.
func TestAfterCompaction(t *testing.T) {
	m := modelOf(t, `
steps:
  - text: first
  - {when: {system: summarise}, text: all went well}
  - {when: {user: go on}, text: later}
`, nil)
	k := &conversation{t: t}
	k.user("<history>…</history>")
	req := k.request(m)
	req.System = "You summarise."
	if _, it, err := stream(t.Context(), m, req); err != nil || it.Text() != "all went well" {
		t.Errorf("the summary is %q, %v", it.Text(), err)
	}
	k = &conversation{t: t}
	k.add(transcript.Item{Role: transcript.RoleContext, Parts: []transcript.Part{transcript.Text{Text: "all went well"}}})
	k.user("go on")
	if got := k.next(m).Text(); got != "later" {
		t.Errorf("after the summary comes %q", got)
	}
}

func TestMatch(t *testing.T) {
	yes, no := true, false
	sc := &requestView{
		system: "be brief", items: 5, after: "look", user: "please count", notifications: "ann is idle\nbob is idle",
		results: []result{{tool: "Read", text: "alpha"}, {tool: "Bash", text: "boom 42", isError: true}},
	}
	for _, tt := range []struct {
		name string
		m    stepMatch
		want bool
	}{
		{"any", stepMatch{Any: true}, true},
		{"user", stepMatch{User: "count"}, true},
		{"other user", stepMatch{User: "Count"}, false},
		{"user matches", stepMatch{UserMatches: `^please\b`}, true},
		{"user does not match", stepMatch{UserMatches: `^count`}, false},
		{"told", stepMatch{Notification: "ann is"}, true},
		{"told of another", stepMatch{Notification: "zoe is"}, false},
		{"told matches", stepMatch{NotificationMatches: `(?m)^bob`}, true},
		{"told does not match", stepMatch{NotificationMatches: `^bob`}, false},
		{"tool", stepMatch{Tool: "Read"}, true},
		{"other tool", stepMatch{Tool: "Edit"}, false},
		{"result", stepMatch{Result: "alp"}, true},
		{"tool and result of one", stepMatch{Tool: "Bash", Result: "boom"}, true},
		{"tool and result of two", stepMatch{Tool: "Read", Result: "boom"}, false},
		{"result matches", stepMatch{ResultMatches: `\d+$`}, true},
		{"error", stepMatch{IsError: &yes}, true},
		{"success", stepMatch{IsError: &no}, true},
		{"success of the other", stepMatch{Tool: "Bash", IsError: &no}, false},
		{"system", stepMatch{System: "brief"}, true},
		{"other system", stepMatch{System: "long"}, false},
		{"after", stepMatch{After: "look"}, true},
		{"after another", stepMatch{After: "edit"}, false},
		{"enough items", stepMatch{MinItems: 5}, true},
		{"too few items", stepMatch{MinItems: 6}, false},
		{"few items", stepMatch{MaxItems: 5}, true},
		{"too many items", stepMatch{MaxItems: 4}, false},
		{"all must hold", stepMatch{User: "count", Tool: "Edit"}, false},
	} {
		c, f := compileMatch(&tt.m)
		if f != nil {
			t.Fatalf("%s: %v", tt.name, f)
		}
		if c.fits(sc) != tt.want {
			t.Errorf("%s: %s fits: %v", tt.name, c, !tt.want)
		}
		if c.String() == "" {
			t.Errorf("%s says nothing", tt.name)
		}
	}
	nobody, _ := compileMatch(&stepMatch{UserMatches: `.*`})
	if nobody.fits(&requestView{}) {
		t.Error("a user condition fits where no user said anything")
	}
}

func TestExpect(t *testing.T) {
	m := modelOf(t, "steps: [{name: one, expect: {user: count, min_items: 1}, text: a}]", nil)
	k := &conversation{t: t}
	k.user("sing")
	_, _, err := stream(t.Context(), m, k.request(m))
	e := failure(t, err)
	want := `step one expects user containing "count" and at least 1 items; received: user "sing"`
	if e.Kind != model.ErrorInvalid || e.Message != want || e.Retryable() {
		t.Errorf("have %v, want %s", e, want)
	}
}

func TestUnsoundRequests(t *testing.T) {
	m := modelOf(t, "steps: [{when: {any: true}, text: a}]", nil)
	use := transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.ToolUse{ID: "u", Name: "T"}}}
	res := transcript.ToolResult{UseID: "u"}.Item()
	hi := transcript.UserText("hi")
	for name, items := range map[string][]transcript.Item{
		"no messages":      {},
		"ends with answer": {hi, {Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "x"}}}},
		"open use":         {hi, use, hi},
		"orphan":           {hi, res},
		"second result":    {hi, use, res, res},
		"result too late":  {hi, use, hi, res},
	} {
		k := &conversation{t: t}
		for _, it := range items {
			k.add(it)
		}
		_, _, err := stream(t.Context(), m, k.request(m))
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if e := failure(t, err); e.Kind != model.ErrorInvalid {
			t.Errorf("%s: %v", name, e)
		}
	}
	_, _, err := stream(t.Context(), m, &model.Request{Messages: []model.EncodedItem{{Role: "user", JSON: []byte(`{"role":`)}}})
	if e := failure(t, err); e.Kind != model.ErrorInvalid {
		t.Errorf("malformed wire: %v", e)
	}
}

func TestEncode(t *testing.T) {
	m := modelOf(t, "steps: [{text: a}]", nil)
	for name, tt := range map[string]struct {
		it   transcript.Item
		role string
		json string
	}{
		"user":       {transcript.UserText("<hi>"), "user", `{"role":"user","parts":[{"type":"text","text":"<hi>"}]}`},
		"no parts":   {transcript.Item{Role: transcript.RoleUser}, "", ""},
		"a host's":   {transcript.Item{Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Custom{Kind: "k"}}}, "", ""},
		"two parts":  {transcript.Item{Role: transcript.RoleContext, Parts: []transcript.Part{transcript.Text{Text: "a"}, transcript.Custom{}, transcript.Text{Text: "b"}}}, "context", `{"role":"context","parts":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`},
		"own answer": {transcript.Item{Role: transcript.RoleAssistant, Native: &transcript.Native{API: apiName, JSON: []byte(`{"role":"assistant","step":"s","parts":[]}`)}}, "assistant", `{"role":"assistant","step":"s","parts":[]}`},
	} {
		w, err := m.Encode(tt.it.MustEncode())
		if err != nil || w.Role != tt.role || string(w.JSON) != tt.json {
			t.Errorf("%s: %s %s %v", name, w.Role, w.JSON, err)
		}
	}
}

func TestOptionsAndInfo(t *testing.T) {
	var recorded []model.Request
	price := `price: {input: 3, output: 15, cache_read: 0.5}`
	m := modelOf(t, "name: n\ncontext: 1000\nmax_output: 50\n"+price+"\nsteps: [{text: a}]",
		&Options{Record: func(r model.Request) { recorded = append(recorded, r) }})
	i := m.Info()
	if i.String() != "scripted/n" || i.API != apiName || i.Context != 1000 || i.MaxOutput != 50 || *i.Price != (model.Price{Input: 3, Output: 15, CacheRead: .5}) {
		t.Errorf("info: %+v %+v", i, i.Price)
	}
	i.Price.Input = 9
	if m.Info().Price.Input != 3 {
		t.Error("the price can be changed from outside")
	}
	k := &conversation{t: t}
	k.user("hi")
	req := k.request(m)
	_, it, err := stream(t.Context(), m, req)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages[0] = model.EncodedItem{}
	if len(recorded) != 1 || recorded[0].Messages[0].Role != "user" {
		t.Errorf("recorded: %+v", recorded)
	}
	if u := it.Usage; u.Input != int64(len(recorded[0].Messages[0].JSON)/4) || u.Output == 0 {
		t.Errorf("usage: %+v", u)
	}
	k.user(strings.Repeat("long ", 1000))
	_, _, err = stream(t.Context(), m, k.request(m))
	if e := failure(t, err); e.Kind != model.ErrorTooLong {
		t.Errorf("a request of more than the context: %v", e)
	}
}

func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }
