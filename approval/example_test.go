package approval_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// exampleSession returns a session in which an agent has asked about a command.
func exampleSession() (*session.Sessions, approval.Request) {
	ctx := context.Background()
	sessions := session.New(memory.New(), nil)
	l, err := sessions.Create(ctx, session.Opened{SessionID: "fix"})
	if err != nil {
		log.Fatal(err)
	}
	q := approval.Request{ID: "01JT", Cwd: "/w", AskedAt: time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)}.ForRequests(
		[]policy.Request{{Tool: "Bash", Operation: policy.OpCommand, Resource: "npm run test -- --watch", Cwd: "/w"}},
		policy.Decision{Use: "call-1", Tool: "Bash", Effect: policy.Ask, By: "mode default", Reason: "mode default asks about commands"},
	)
	d, err := session.NewDraft(record.KindApprovalAsked, q)
	if err == nil {
		_, err = l.Append(ctx, d)
	}
	if err != nil {
		log.Fatal(err)
	}
	q.Session = l.ID()
	return sessions, q
}

func ExampleRequest_ForRequests() {
	requests := []policy.Request{{Tool: "Bash", Operation: policy.OpCommand, Resource: "npm run test -- --watch", Cwd: "/w"}}
	decision := policy.Decision{Use: "call-1", Tool: "Bash", Effect: policy.Ask, By: "mode default", Reason: "mode default asks about commands"}
	q := approval.Request{ID: "01JT", Cwd: "/w"}.ForRequests(requests, decision)
	fmt.Println(q.ReasonText)
	for _, s := range q.Scopes {
		fmt.Printf("%q: %s\n", s.Rule, s.Text)
	}
	// Output:
	// mode default asks about commands
	// "": exactly this command in /w
	// "Bash(npm run test:*)": every command that begins with "npm run test"
}

func ExampleResolve() {
	ctx := context.Background()
	sessions, q := exampleSession()
	won, err := approval.Resolve(ctx, sessions, q.Session, approval.Answer{RequestID: q.ID, Decision: approval.Allow, Actor: "ann", Via: "cli"})
	fmt.Println(won.Decision, won.Actor, err)
	_, err = approval.Resolve(ctx, sessions, q.Session, approval.Answer{RequestID: q.ID, Decision: approval.Deny, Actor: "bob"})
	fmt.Println(err, errors.Is(err, approval.ErrAnswered))
	// Output:
	// allow ann <nil>
	// the approval request was already answered: allow by ann true
}

func ExampleCheck() {
	_, q := exampleSession()
	fmt.Println(q.Check(approval.Answer{Decision: approval.AllowSession, Scope: "Bash(npm run *)"}))
	fmt.Println(q.Check(approval.Answer{Decision: approval.AllowSession, Scope: "Edit"}))
	// Output:
	// <nil>
	// invalid answer: scope "Edit" is not about Bash; hint: Bash(npm run test:*)
}

func ExamplePending() {
	sessions, _ := exampleSession()
	open, err := approval.Pending(context.Background(), sessions, "")
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range open {
		fmt.Println(q.Session, q.ID, q.Tool, q.Requests[0].Resource)
	}
	// Output: fix 01JT Bash npm run test -- --watch
}

func ExampleFind() {
	q, answer, err := approval.Find(context.Background(), first(exampleSession()), "01")
	fmt.Println(q.ID, answer == nil, err)
	// Output: 01JT true <nil>
}

func first(s *session.Sessions, _ approval.Request) *session.Sessions { return s }

func ExampleWait() {
	ctx := context.Background()
	sessions, q := exampleSession()
	go func() {
		_, err := approval.Resolve(ctx, sessions, q.Session, approval.Answer{RequestID: q.ID, Decision: approval.Deny, Actor: "ann", Message: "not today"})
		if err != nil {
			log.Print(err)
		}
	}()
	a, err := approval.Wait(ctx, sessions, q.Session, q)
	fmt.Println(a.Decision, a.Message, err)
	// Output: deny not today <nil>
}

func ExampleGrant() {
	_, q := exampleSession()
	g, err := q.Grant(approval.Answer{Decision: approval.AllowSession, Scope: "Bash(npm run test:*)", Actor: "ann"})
	fmt.Println(g.Effect, g.Scope, g.By, err)
	_, err = q.Grant(approval.Answer{Decision: approval.Allow})
	fmt.Println(err)
	// Output:
	// allow Bash(npm run test:*) ann <nil>
	// invalid answer: allow applies once and makes no grant
}

func ExampleRequest_CheckUnchanged() {
	q := approval.Request{Requests: []policy.Request{{Tool: "Edit", Operation: policy.OpWrite, Resource: "/app/a", Base: "absent"}}}
	fmt.Println(q.CheckUnchanged([]policy.Request{{Tool: "Edit", Operation: policy.OpWrite, Resource: "/app/a", Base: "8d96…"}}))
	// Output: the call differs from the approved one: /app/a changed after the approval
}
