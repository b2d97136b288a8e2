package session_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

var ctx = context.Background()

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// exampleSession is a store with one session of three items.
func exampleSession() *session.Sessions {
	s := session.New(memory.New(), nil)
	check(s.Save(ctx, "s", []transcript.Item{
		{ID: "1", Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: "what is in main.go?"}}},
		{ID: "2", Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "one function"}}},
		{ID: "3", Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: "rename it"}}},
	}, nil))
	return s
}

func ExampleNew() {
	sessions := session.New(memory.New(), nil)
	p, err := sessions.List(ctx, session.Query{})
	fmt.Println(len(p.Sessions), err)
	// Output: 0 <nil>
}

func ExampleSessions_Create() {
	sessions := session.New(memory.New(), nil)
	l, err := sessions.Create(ctx, session.Opened{SessionID: "parser", CWD: "/src/parser"})
	check(err)
	defer l.Close()

	item := transcript.UserText("hello").MustEncode()
	records, err := l.Append(ctx, session.ItemDraft(item, false, nil))
	check(err)
	fmt.Println(l.ID(), records[0].Seq, records[0].Kind, l.Meta().MessageCount)
	// Output: parser 2 item 1
}

func ExampleSessions_Open() {
	sessions := exampleSession()
	l, err := sessions.Open(ctx, "s", nil)
	check(err)
	_, err = sessions.Open(ctx, "s", nil) // one writer at a time
	_, busy := errors.AsType[*session.BusyError](err)
	fmt.Println(l.Meta().MessageCount, busy)
	check(l.Close())
	// Output: 3 true
}

func ExampleSessions_Save() {
	sessions := session.New(memory.New(), nil)
	items := []transcript.Item{transcript.UserText("hello")}
	title := "a talk"
	check(sessions.Save(ctx, "s", items, &session.MetaPatch{Title: &title}))

	items = append(items, transcript.UserText("anybody there?"))
	check(sessions.Save(ctx, "s", items, nil)) // appends the one that is new
	m, err := sessions.Get(ctx, "s")
	check(err)
	fmt.Println(m.Title, m.MessageCount, m.FirstPrompt)
	// Output: a talk 2 hello
}

func ExampleSessions_Load() {
	loaded, err := exampleSession().Load(ctx, "s", &session.LoadOptions{Limit: 2})
	check(err)
	for _, item := range loaded.Items {
		fmt.Println(item.Role(), item.Text())
	}
	fmt.Println("of", loaded.Meta.MessageCount)
	// Output:
	// assistant one function
	// user rename it
	// of 3
}

func ExampleSessions_List() {
	sessions := exampleSession()
	page, err := sessions.List(ctx, session.Query{Limit: 20})
	check(err)
	for _, m := range page.Sessions {
		fmt.Println(m.ID, m.MessageCount, m.FirstPrompt)
	}
	// Output: s 3 what is in main.go?
}

func ExampleSessions_Find() {
	sessions := exampleSession()
	check(sessions.Rename(ctx, "s", "rename the function"))
	m, err := sessions.Find(ctx, "rename the function")
	check(err)
	fmt.Println(m.ID)
	_, err = sessions.Find(ctx, "t")
	fmt.Println(err, "| hint:", session.Hint(err))
	// Output:
	// s
	// find session t: no such session | hint: nearest: s
}

func ExampleSessions_Fork() {
	sessions := exampleSession()
	id, err := sessions.Fork(ctx, "s", &session.ForkOptions{ID: "other-way", ItemID: "2"})
	check(err)
	m, err := sessions.Get(ctx, id)
	check(err)
	fmt.Println(m.ID, m.MessageCount, m.Summary)
	// Output: other-way 2 Forked from session s
}

func ExampleSessions_Delete() {
	sessions := exampleSession()
	check(sessions.Delete(ctx, "s"))
	fmt.Println(sessions.Delete(ctx, "s"))
	// Output: find session s: no such session
}

func ExampleSessions_Rename() {
	sessions := exampleSession()
	l, err := sessions.Open(ctx, "s", nil)
	check(err)
	defer l.Close()
	check(sessions.Rename(ctx, "s", "main.go")) // while somebody runs it
	m, err := sessions.Get(ctx, "s")
	check(err)
	fmt.Println(m.Title)
	// Output: main.go
}

func ExampleSessions_Tag() {
	sessions := exampleSession()
	check(sessions.Tag(ctx, "s", "work"))
	page, err := sessions.List(ctx, session.Query{Tag: "work"})
	check(err)
	fmt.Println(page.Sessions[0].ID)
	// Output: s
}

func ExampleSessions_Restore() {
	sessions := exampleSession()
	r, err := sessions.Restore(ctx, session.RestoreOptions{ContinueRecent: true, ItemID: "2"})
	check(err)
	defer r.Log.Close()
	fmt.Println(r.Log.ID(), len(r.State.Items))
	for _, n := range r.Notices {
		fmt.Println(n)
	}
	// Output:
	// s 2
	// the transcript was cut after item 2: 1 items were removed from it and stay in the log
}

func ExampleSessions_Verify() {
	report, err := exampleSession().Verify(ctx, "s")
	check(err)
	fmt.Println(report.OK(), report.Records, report.Items)
	// Output: true 4 3
}

func ExampleSessions_Rebuild() {
	sessions := exampleSession()
	m, err := sessions.Rebuild(ctx, "s")
	check(err)
	fmt.Println(m.MessageCount)
	// Output: 3
}

func ExampleSessions_StateAt() {
	sessions := exampleSession()
	state, err := sessions.StateAt(ctx, "s", 4)
	check(err)
	fmt.Println(state.SessionID, state.Head, len(state.Items))
	// Output: s 4 3
}

func ExampleHint() {
	_, err := exampleSession().Fork(ctx, "s", &session.ForkOptions{ItemID: "33"})
	fmt.Println(err)
	fmt.Println("hint:", session.Hint(err))
	// Output:
	// find item session s: invalid argument: no item has the id 33
	// hint: nearest: 3, 2, 1
}

func ExampleCheckID() {
	fmt.Println(session.CheckID("../etc"))
	// Output: check id: invalid session id: Session ID contains invalid character: '/'
}

func ExampleNewDraft() {
	sessions := exampleSession()
	l, err := sessions.Open(ctx, "s", nil)
	check(err)
	defer l.Close()
	d, err := session.NewDraft(record.KindTurnOpened, record.TurnOpened{Turn: sessions.NewID()})
	check(err)
	records, err := l.Append(ctx, d)
	check(err)
	fmt.Println(records[0].Seq, records[0].Kind)
	// Output: 5 turn.opened
}

// A user renames the session while another process runs it: that process takes in the new
// title.
func ExampleLog_Refresh() {
	ctx := context.Background()
	sessions := session.New(memory.New(), nil)
	l, err := sessions.Create(ctx, session.Opened{SessionID: "s"})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	if err := sessions.Rename(ctx, "s", "the failing test"); err != nil {
		log.Fatal(err)
	}
	records, err := l.Refresh(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range records {
		fmt.Println(r.Seq, r.Kind, string(r.Payload))
	}
	// Output: 2 meta.changed {"title":"the failing test"}
}

// A change that is made only if nothing else was appended since.
func ExampleSessions_AppendShared() {
	ctx := context.Background()
	sessions := session.New(memory.New(), nil)
	l, err := sessions.Create(ctx, session.Opened{SessionID: "s"})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	d, err := session.NewDraft(record.KindPolicyChanged, record.PolicyChanged{Mode: "plan"})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		_, err := sessions.AppendShared(ctx, "s", 1, d)
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// append session s at seq 2: the log has moved on
}
