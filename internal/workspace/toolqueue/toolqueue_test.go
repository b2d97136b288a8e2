package toolqueue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/workspace/toolqueue"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendortest"
	"github.com/holdfast-dev/holdfast/transcript"
)

func none(*toolqueue.Use) string { return "" }

func use(id string) *toolqueue.Use {
	return &toolqueue.Use{ID: id, Name: "Bash", Input: json.RawMessage(`{}`)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ask requests a permission and waits for the answer.
func ask(t *testing.T, st *toolqueue.Turn, p vendor.Permission) vendor.Answer {
	t.Helper()
	answers := make(chan vendor.Answer, 1)
	must(t, st.Ask("q", p, func(a vendor.Answer) { answers <- a }))
	return <-answers
}

// A use whose approval is pending does not count as running in the background, and a denied one never ran.
func TestAdvance(t *testing.T) {
	n := vendortest.NewRecordingSink(t)
	decide := make(chan vendor.Answer)
	n.Decide = func(ctx context.Context, _ vendor.Permission) (vendor.Answer, error) {
		select {
		case a := <-decide:
			return a, nil
		case <-ctx.Done():
			return vendor.Answer{}, ctx.Err()
		}
	}
	st := toolqueue.New(t.Context(), n)
	defer st.Close()
	for _, id := range []string{"runs", "refused", "undecided"} {
		st.AddUse(use(id))
		answered := make(chan struct{})
		must(t, st.Ask(id, vendor.Permission{Use: id}, func(vendor.Answer) { close(answered) }))
		switch id {
		case "runs":
			decide <- vendor.Answer{Allow: true}
			<-answered
		case "refused":
			decide <- vendor.Answer{}
			<-answered
		}
	}
	must(t, st.Advance(none)) // nothing was settled
	st.Settle()
	must(t, st.Advance(func(*toolqueue.Use) string { return "output" }))
	if !st.Use("runs").Detached() || st.Use("refused").Detached() || st.Use("undecided").Ended() {
		t.Error("what runs, was refused or is undecided was mixed up")
	}
	must(t, st.Result("runs", nil, false)) // it has one
	st.Withdraw("undecided")
	st.Withdraw("unknown")
	if !slices.Contains(n.Lines(), "result runs still running in the background; so far:⏎output") {
		t.Errorf("got %q", n.Lines())
	}
}

// A use is reported once, even if the wire repeats it, and results without a use are ignored.
func TestOnce(t *testing.T) {
	n := vendortest.NewRecordingSink(t)
	st := toolqueue.New(t.Context(), n)
	defer st.Close()
	must(t, st.Result("unknown", nil, false))
	must(t, st.Run("unknown"))
	st.AddUse(use("a"))
	later := use("a")
	later.Input = json.RawMessage(`{"x":1}`)
	st.AddUse(later)
	must(t, st.Run("a"))
	must(t, st.Run("a"))
	st.AddUse(use("a"))
	must(t, st.Result("a", toolqueue.Text("done"), true))
	must(t, st.Result("a", toolqueue.Text("again"), true))
	must(t, st.NoticeOnce("word"))
	must(t, st.NoticeOnce("word"))
	n.Expect("running a", `use a Bash {"x":1}`, "failure a done", "notice word")
}

// Many unknown messages do not fill the log.
func TestNotices(t *testing.T) {
	n := vendortest.NewRecordingSink(t)
	st := toolqueue.New(t.Context(), n)
	defer st.Close()
	for i := range 1000 {
		must(t, st.Notice(fmt.Sprint("strange ", i)))
	}
	if lines := n.Lines(); len(lines) != 100 || lines[99] != "notice more notices were omitted" {
		t.Errorf("got %d: %q", len(lines), lines[len(lines)-1])
	}
}

// An approval request for an unknown use belongs to the running one.
func TestUnknown(t *testing.T) {
	n := vendortest.NewRecordingSink(t)
	st := toolqueue.New(t.Context(), n)
	defer st.Close()
	st.AddUse(use("a"))
	must(t, st.Run("a"))
	if a := ask(t, st, vendor.Permission{Use: "b", Tool: "Bash", Input: json.RawMessage(`{}`)}); !a.Allow {
		t.Errorf("answered %+v", a)
	}
	n.Expect("running a", "use a Bash {}", `permit b of "a": Bash {}`)
}

func TestContent(t *testing.T) {
	got := toolqueue.Content(json.RawMessage(`[{"type":"text","text":"a"},{"type":"image","data":"AQI=","mimeType":"image/png"},
		{"type":"resource_link","name":"n","uri":"file:///x"},{"type":"resource","resource":{"uri":"file:///y","text":"t"}},
		{"type":"new"},{"type":"image","data":"no base64!"}]`))
	want := []string{"transcript.Text", "transcript.Media", "transcript.File", "transcript.File", "transcript.Structured", "transcript.Structured"}
	if len(got) != len(want) {
		t.Fatalf("%d parts", len(got))
	}
	for i, p := range got {
		if fmt.Sprintf("%T", p) != want[i] {
			t.Errorf("part %d is a %T, want %s", i, p, want[i])
		}
	}
	if m := got[1].(transcript.Media); string(m.Data) != "\x01\x02" {
		t.Errorf("data %q", m.Data)
	}
	if toolqueue.Content(json.RawMessage(`{}`)) != nil {
		t.Error("an object is no list")
	}
}

func ExampleNew() {
	st := toolqueue.New(context.Background(), nil)
	defer st.Close()
	st.AddUse(use("call_1"))
	fmt.Println(st.Use("call_1").IsPending())
	// Output: true
}
