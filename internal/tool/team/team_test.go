package team_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/tool/tasks"
	"github.com/holdfast-dev/holdfast/internal/tool/team"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// teamEnv is a lead with a team, all of whom play.
type teamEnv struct {
	t        testing.TB
	sessions *session.Sessions
	team     *team.Team
	subs     *agent.Subagents
	lead     *agent.Agent
	board    *tasks.List
	notices  []string
}

func scriptedModel(t testing.TB, play string) model.Model {
	t.Helper()
	m, err := scripted.New([]byte(play), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// newTeamEnv makes a lead that goes on with a session, or begins one when id is "". kinds are
// plays by kind of teammate.
func newTeamEnv(t testing.TB, s *session.Sessions, id, play string, kinds map[string]string, hooks *hook.Registry) *teamEnv {
	t.Helper()
	c := &teamEnv{t: t, sessions: s}
	c.team = team.New(&team.Options{Max: 3, Tasks: func() *tasks.List { return c.board }})
	var definitions []agent.Definition
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		definitions = append(definitions, agent.Definition{Name: k, Description: "does " + k, Prompt: "you are " + k, Model: k})
	}
	var err error
	c.subs, err = agent.NewSubagents(&agent.SubagentOptions{
		Definitions: definitions, Named: c.team.Join,
		Resumed: func(ctx context.Context, s *agent.Subagents) []string {
			c.board = tasks.Open(c.sessions, s.Agent().SessionID(), nil)
			c.notices = c.team.Resume(ctx, s)
			return c.notices
		},
		Model: func(name string) (model.Model, error) { return scriptedModel(t, kinds[name]), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.team.Tools()
	if err != nil {
		t.Fatal(err)
	}
	r, err := tool.NewRegistry(append(list, c.subs.Tool())...)
	if err != nil {
		t.Fatal(err)
	}
	c.lead, err = agent.New(scriptedModel(t, play), &agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: id}, Tools: r, Subagents: c.subs, Hooks: agent.Hooks{Registry: hooks}, Model: agent.ModelOptions{Retry: agent.Retry{Max: -1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.lead.Close() })
	return c
}

// run runs the lead until nobody has anything to do.
func (c *teamEnv) run(input string) {
	c.t.Helper()
	var parts []transcript.Part
	if input != "" {
		parts = append(parts, transcript.Text{Text: input})
	} else if err := c.lead.Await(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	for _, err := range c.lead.Work(c.t.Context(), parts...) {
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// transcriptText is a session's transcript, an item a line.
func transcriptText(t testing.TB, s *session.Sessions, id string) string {
	t.Helper()
	l, err := s.Load(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range l.Items {
		it, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range it.Parts {
			text := ""
			switch p := p.(type) {
			case transcript.Text:
				text = p.Text
			case transcript.ToolUse:
				text = p.Name + " " + string(p.Input)
			case transcript.ToolResult:
				text = p.Text()
			}
			lines = append(lines, string(it.Role)+": "+strings.ReplaceAll(text, "\n", " | "))
		}
	}
	return strings.Join(lines, "\n")
}

// member is the session of a teammate.
func (c *teamEnv) member(name string) session.Meta {
	c.t.Helper()
	page, err := c.sessions.List(c.t.Context(), session.Query{Owner: c.lead.SessionID()})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, m := range page.Sessions {
		if strings.Contains(m.Tag, ":"+name+":") {
			return m
		}
	}
	c.t.Fatalf("no session of %s:\n%s", name, transcriptText(c.t, c.sessions, c.lead.SessionID()))
	return session.Meta{}
}

func has(t testing.TB, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if n := strings.Count(text, w); n != 1 {
			t.Errorf("%q is there %d times in\n%s", w, n, text)
		}
	}
}

const leadScript = `
steps:
  - {when: {user: grow}, tool_uses: [{tool: TeamCreate, input: {team_name: garden, description: beans}}]}
  - when: {tool: TeamCreate}
    tool_uses:
      - {id: hire-bob, tool: Agent, input: {description: plant, prompt: wait for ann, subagent_type: planter, name: bob}}
  - when: {result: bob joined}
    tool_uses:
      - {id: hire-ann, tool: Agent, input: {description: dig, prompt: dig the bed, subagent_type: digger, name: ann, team_name: garden}}
  - {when: {any: true}, text: noted}
`

var scriptedTeam = map[string]string{
	"digger": `
steps:
  - {when: {told: dig the bed}, tool_uses: [{tool: SendMessage, input: {to: bob, message: the bed is dug}}]}
  - {when: {tool: SendMessage}, text: dug}
  - {when: {any: true}, text: yes}
`,
	"planter": `
steps:
  - {when: {told: the bed is dug}, text: planted}
  - {when: {any: true}, text: I wait}
`,
}

func TestTeamMessages(t *testing.T) {
	s := session.New(memory.New(), nil)
	c := newTeamEnv(t, s, "", leadScript, scriptedTeam, nil)
	c.run("grow beans")
	ann, bob := transcriptText(t, s, c.member("ann").ID), transcriptText(t, s, c.member("bob").ID)
	has(t, ann, "Purpose of the team: beans |  | Message from team-lead: | dig the bed", "Sent to bob.", "assistant: dug")
	has(t, bob, "Message from ann: | the bed is dug", "assistant: planted", "Message from team-lead: | wait for ann")
	lead := transcriptText(t, s, c.lead.SessionID())
	has(t, lead, "The team garden was created", "ann joined the team garden", "bob joined the team garden", "Its last message: | dug", "Its last message: | planted")
	if c.subs.Teammates()[0].Working() {
		t.Error("ann still works")
	}
}

func TestATeamIsThereAgainAfterARestart(t *testing.T) {
	s := session.New(memory.New(), nil)
	c := newTeamEnv(t, s, "lead", leadScript, scriptedTeam, nil)
	c.run("grow beans")
	before := transcriptText(t, s, "lead")
	if err := c.lead.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(c.subs.Teammates()); n != 0 {
		t.Errorf("%d live on", n)
	}
	again := newTeamEnv(t, s, "lead", `
steps:
  - {when: {user: once more}, tool_uses: [{tool: SendMessage, input: {to: "*", message: "all well?"}}]}
  - {when: {any: true}, text: good}
`, scriptedTeam, nil)
	again.run("once more")
	if slices.Sort(again.notices); len(again.notices) != 2 || !strings.Contains(again.notices[0], "the teammate ann was resumed in session") {
		t.Errorf("%q", again.notices)
	}
	lead := transcriptText(t, s, "lead")
	if !strings.HasPrefix(lead, before) {
		t.Error("the lead's transcript is another")
	}
	has(t, strings.TrimPrefix(lead, before), "Sent to ann, bob.", "Its last message: | yes", "Its last message: | I wait")
	has(t, transcriptText(t, s, again.member("ann").ID), "Message from team-lead: | all well?")
}

func TestTheEndOfATeam(t *testing.T) {
	s := session.New(memory.New(), nil)
	c := newTeamEnv(t, s, "", leadScript, scriptedTeam, nil)
	c.run("grow beans")
	call := func(session, name, input string) string {
		t.Helper()
		list, err := c.team.Tools()
		if err != nil {
			t.Fatal(err)
		}
		for _, tl := range list {
			if tl.Spec().Name == name {
				r, err := tl.Run(t.Context(), &tool.Call{ID: "x" + name + input, Session: session, Tool: name, Input: json.RawMessage(input)})
				if err != nil {
					t.Fatal(err)
				}
				return transcript.ToolResult{Content: r.Content}.Text()
			}
		}
		return "no tool"
	}
	lead, ann, bob := c.lead.SessionID(), c.member("ann").ID, c.member("bob").ID
	for _, tt := range [][4]string{
		{lead, "TeamCreate", `{"team_name":"other"}`, "the team garden already exists"},
		{ann, "TeamCreate", `{"team_name":"other"}`, "only team-lead can create"},
		{ann, "TeamDelete", `{}`, "only team-lead can end"},
		{"stranger", "SendMessage", `{"to":"ann","message":"x"}`, "you are not in a team"},
		{ann, "SendMessage", `{"to":"ann","message":"x"}`, "you cannot send a message to yourself"},
		{ann, "SendMessage", `{"to":"zoe","message":"x"}`, "the members are team-lead, ann, bob"},
		{ann, "SendMessage", `{"to":"bob","message":" "}`, "the message is empty"},
		{ann, "SendMessage", `{"to":"bob","message":5}`, "a string or an object"},
		{ann, "SendMessage", `{"to":"bob","message":{"type":"shutdown_request"}}`, "can send shutdown_request"},
		{ann, "SendMessage", `{"to":"team-lead","message":{"type":"shutdown_response","approve":true}}`, "no shutdown request"},
		{lead, "SendMessage", `{"to":"ann","message":{"type":"shutdown_request","reason":"it rains"}}`, "Sent to ann"},
	} {
		if got := call(tt[0], tt[1], tt[2]); !strings.Contains(got, tt[3]) {
			t.Errorf("%s %s: %q, want %q", tt[1], tt[2], got, tt[3])
		}
	}
	c.run("")
	if got := transcriptText(t, s, lead); !strings.Contains(got, "The teammate ann has left the team.") {
		t.Errorf("the lead was not told:\n%s", got)
	}
	if m, err := s.Get(t.Context(), ann); err != nil || !strings.HasPrefix(m.Tag, "former-teammate:garden:ann:") {
		t.Errorf("%+v %v", m, err)
	}
	if got := call(lead, "TeamDelete", `{}`); !strings.Contains(got, "The team garden has ended. Its teammates were: bob (session "+bob) {
		t.Error(got)
	}
	if held, err := s.Lease(t.Context(), bob); err != nil || held != nil {
		t.Errorf("bob's session is held: %+v %v", held, err)
	}
	if got := call(lead, "TeamCreate", `{"team_name":"other"}`); !strings.Contains(got, "The team other was created") {
		t.Error(got)
	}
}

func TestUnblockedTasksAreNotifiedOnce(t *testing.T) {
	s := session.New(memory.New(), nil)
	worker := `
steps:
  - {when: {told: "You own task 2"}, text: second}
  - {when: {told: "You own task 1"}, text: first}
  - {when: {any: true}, text: ok}
`
	c := newTeamEnv(t, s, "lead", `
steps:
  - {when: {user: go}, tool_uses: [{tool: Agent, input: {description: work, prompt: look at your tasks, name: ann}}]}
  - {when: {any: true}, text: ok}
`, map[string]string{"worker": worker}, nil)
	if _, err := c.lead.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	changed := func(ctx context.Context) {
		if err := c.team.NotifyUnblocked(ctx); err != nil {
			t.Error(err)
		}
	}
	c.board = tasks.Open(s, "lead", &tasks.Options{Changed: changed})
	_, err := c.board.Create(t.Context(), "", tasks.Task{Subject: "dig", Owner: "ann"}, tasks.Task{Subject: "plant", Owner: "ann", BlockedBy: []string{"1"}})
	if err != nil {
		t.Fatal(err)
	}
	c.run("go")
	ann := c.member("ann").ID
	has(t, transcriptText(t, s, ann), "You own task 1, and it is not blocked: dig")
	if _, err := c.board.Update(t.Context(), "", "1", func(t *tasks.Task) error { t.Status = tasks.Completed; return nil }); err != nil {
		t.Fatal(err)
	}
	c.run("")
	has(t, transcriptText(t, s, ann), "You own task 2, and it is not blocked: plant", "assistant: second")
	if err := c.lead.Close(); err != nil {
		t.Fatal(err)
	}
	again := newTeamEnv(t, s, "lead", "steps: [{when: {any: true}, text: ok}]", map[string]string{"worker": worker}, nil)
	again.run("anything?")
	has(t, transcriptText(t, s, ann), "You own task 2, and it is not blocked: plant", "You own task 1")
}

// Also when a task of its own is free before it has joined.
func TestTeammateReadsItsTaskFirst(t *testing.T) {
	for range 30 {
		s := session.New(memory.New(), nil)
		c := newTeamEnv(t, s, "lead", `
steps:
  - {when: {user: go}, tool_uses: [{tool: Agent, input: {description: work, prompt: look at your tasks, name: ann}}]}
  - {when: {any: true}, text: ok}
`, map[string]string{"worker": "steps: [{when: {any: true}, text: ok}]"}, nil)
		if _, err := c.lead.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.board = tasks.Open(s, "lead", nil)
		if _, err := c.board.Create(t.Context(), "", tasks.Task{Subject: "dig", Owner: "ann"}); err != nil {
			t.Fatal(err)
		}
		c.run("go")
		if ann := transcriptText(t, s, c.member("ann").ID); !strings.HasPrefix(ann, "notification: Message from team-lead: | look at your tasks") {
			t.Fatal(ann)
		}
		if err := c.lead.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAHookKeepsATeammateAtWork(t *testing.T) {
	s := session.New(memory.New(), nil)
	hooks := hook.New(nil)
	var mu sync.Mutex
	var heard []string
	err := hooks.HandleFunc(hook.TeammateIdle, "", func(_ context.Context, in hook.Input) (*hook.Output, error) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, in.Task.Team+" "+in.Task.Teammate)
		if len(heard) == 1 {
			return &hook.Output{Decision: "block", Reason: "water the beans"}, nil
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c := newTeamEnv(t, s, "", `
steps:
  - {when: {user: go}, tool_uses: [{tool: Agent, input: {description: work, prompt: begin, name: ann, team_name: garden}}]}
  - {when: {any: true}, text: ok}
`, map[string]string{"worker": "steps: [{when: {told: water}, text: watered}, {when: {any: true}, text: done}]"}, hooks)
	c.run("go")
	if fmt.Sprint(heard) != "[garden ann garden ann]" {
		t.Errorf("%q", heard)
	}
	has(t, transcriptText(t, s, c.member("ann").ID), "TeammateIdle hook: water the beans", "assistant: watered")
	has(t, transcriptText(t, s, c.lead.SessionID()), "Its last message: | watered")
}
