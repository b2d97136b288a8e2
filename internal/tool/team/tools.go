package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

type createInput struct {
	Name        string `json:"team_name" jsonschema:"Lower-case letters, digits and hyphens"`
	Description string `json:"description,omitempty" jsonschema:"The purpose of the team; each teammate reads it"`
}

type sendInput struct {
	To      string `json:"to" jsonschema:"A teammate's name, team-lead, or * for all others"`
	Message any    `json:"message" jsonschema:"The text, or an object: type shutdown_request asks a teammate to leave when it becomes idle; with type shutdown_response and approve false, a teammate declines"`
	Summary string `json:"summary,omitempty" jsonschema:"The message in five to ten words"`
}

type deleteInput struct{}

// Tools returns TeamCreate, SendMessage and TeamDelete for the lead. Teammates get SendMessage
// automatically.
func (t *Team) Tools() ([]tool.Tool, error) {
	create, err := tool.New(
		tool.Spec{Name: "TeamCreate", Description: "Creates a team, which you lead. Add teammates with Agent and its name; share work with TaskCreate and owners. Use it for work that several agents can do in parallel and need to coordinate."},
		func(_ context.Context, c *tool.Call, in createInput) (tool.Result, error) {
			return t.create(c, in), nil
		},
		readOnlyRequests[createInput]("TeamCreate"))
	if err != nil {
		return nil, err
	}
	send, err := t.sendTool()
	if err != nil {
		return nil, err
	}
	end, err := tool.New(
		tool.Spec{Name: "TeamDelete", Description: "Ends the team: the teammates leave, but their sessions remain. Fails while a teammate is working."},
		func(ctx context.Context, c *tool.Call, _ deleteInput) (tool.Result, error) { return t.end(ctx, c), nil },
		readOnlyRequests[deleteInput]("TeamDelete"))
	return []tool.Tool{create, send, end}, err
}

func (t *Team) sendTool() (tool.Tool, error) {
	return tool.New(
		tool.Spec{Name: "SendMessage", Description: "Sends a message to a teammate, to team-lead, or with * to all others in the team. The message is stored until it is read."},
		t.send, readOnlyRequests[sendInput]("SendMessage"))
}

// readOnlyRequests returns the requests of tools that only touch sessions of the run.
func readOnlyRequests[In any](name string) func(*tool.Call, In) ([]policy.Request, error) {
	return func(*tool.Call, In) ([]policy.Request, error) {
		return []policy.Request{{Resource: name, ReadOnly: true}}, nil
	}
}

// create creates a team.
func (t *Team) create(c *tool.Call, in createInput) tool.Result {
	if who := t.MemberOf(c.Session); who != "" && who != leadName {
		return tool.Failure("only " + leadName + " can create a team")
	}
	if err := checkName(in.Name); err != nil {
		return tool.Failure(err.Error())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.name != "" {
		return tool.Failure("the team " + t.name + " already exists, and only one is allowed; end it with TeamDelete first")
	}
	t.name, t.about = in.Name, strings.TrimSpace(in.Description)
	return tool.Text("The team " + in.Name + " was created, and you are its " + leadName + ". Use Agent with name and team_name to add a teammate.")
}

// end ends the team.
func (t *Team) end(ctx context.Context, c *tool.Call) tool.Result {
	if who := t.MemberOf(c.Session); who != "" && who != leadName {
		return tool.Failure("only " + leadName + " can end the team")
	}
	name := t.Name()
	if name == "" {
		return tool.Failure("no team exists")
	}
	var busy, left []string
	for _, m := range t.memberList() {
		if m.Working() {
			busy = append(busy, m.name)
		}
	}
	if len(busy) > 0 {
		return tool.Failure(strings.Join(busy, ", ") + " is still working. You are notified when it becomes idle; send a message with type shutdown_request to ask it to leave then.")
	}
	for _, m := range t.memberList() {
		if err := m.Dismiss(ctx); err != nil {
			return tool.Failure(fmt.Sprintf("%s: %v", m.name, err))
		}
		t.forget(m)
		if s := m.Agent().Sessions(); s != nil {
			if err := s.Tag(ctx, m.Session(), m.tag(formerPrefix)); err != nil {
				return tool.Failure(fmt.Sprintf("%s: %v", m.name, err))
			}
		}
		left = append(left, m.name+" (session "+m.Session()+")")
	}
	t.mu.Lock()
	t.name, t.about = "", ""
	t.mu.Unlock()
	text := "The team " + name + " has ended."
	if len(left) > 0 {
		text += " Its teammates were: " + strings.Join(left, ", ") + "."
	}
	return tool.Text(text)
}

// protocolMessage is a message that is an object.
type protocolMessage struct {
	Type    string `json:"type"`
	Approve *bool  `json:"approve"`
	Reason  string `json:"reason"`
	Request string `json:"request_id"` // the id of a shutdown_request; there is at most one
}

// send sends a message.
func (t *Team) send(ctx context.Context, c *tool.Call, in sendInput) (tool.Result, error) {
	from := t.MemberOf(c.Session)
	if from == "" {
		return tool.Failure("you are not in a team; use Agent with a name to create one"), nil
	}
	if err := t.awaitJoining(ctx); err != nil {
		return tool.Result{}, err
	}
	to, err := t.recipients(from, in.To)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	text, err := t.messageText(from, to, in)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	parts := transcript.Text{Text: "Message from " + from + ":\n" + text}
	id := messageID(c.Session, c.ID)
	var got []string
	for _, r := range to {
		tell := t.lead().QueueNotificationOnce
		if r != nil {
			tell = r.QueueNotificationOnce
		}
		if _, err := tell(ctx, id, parts); err != nil {
			return tool.Failure(fmt.Sprintf("sending to %s failed: %v; sent to: %s", memberName(r), err, strings.Join(append(got, "no one else"), ", "))), nil
		}
		got = append(got, memberName(r))
	}
	return tool.Text("Sent to " + strings.Join(got, ", ") + "."), nil
}

func memberName(m *teammate) string {
	if m == nil {
		return leadName
	}
	return m.name
}

// recipients returns the recipients of a message; nil is the lead.
func (t *Team) recipients(from, to string) ([]*teammate, error) {
	var list []*teammate
	names := []string{leadName}
	if from != leadName && (to == leadName || to == broadcastName) {
		list = append(list, nil)
	}
	for _, m := range t.memberList() {
		names = append(names, m.name)
		if m.name != from && (m.name == to || to == broadcastName) {
			list = append(list, m)
		}
	}
	switch {
	case to == from:
		return nil, errors.New("you cannot send a message to yourself")
	case len(list) == 0 && to == broadcastName:
		return nil, errors.New("the team has no other members")
	case len(list) == 0:
		return nil, fmt.Errorf("unknown teammate %q: the members are %s", to, strings.Join(names, ", "))
	}
	return list, nil
}

// messageText returns the text of a message, and applies the effect of the message.
func (t *Team) messageText(from string, to []*teammate, in sendInput) (string, error) {
	if s, ok := in.Message.(string); ok {
		if strings.TrimSpace(s) == "" {
			return "", errors.New("the message is empty")
		}
		return s, nil
	}
	raw, err := json.Marshal(in.Message)
	if err != nil {
		return "", err
	}
	var p protocolMessage
	if err := json.Unmarshal(raw, &p); err != nil {
		return "", errors.New("message must be a string or an object with a type")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case p.Type == "shutdown_request" && from == leadName:
		for _, m := range to {
			m.ending = true
		}
		return strings.TrimSpace("You are asked to leave the team. Finish your current work; you leave when you become idle. " +
			"To stay, send " + leadName + ` {"type":"shutdown_response","approve":false,"reason":"…"}. ` + p.Reason), nil
	case p.Type == "shutdown_response" && from != leadName && p.Approve != nil:
		m := t.members[from]
		if !m.ending {
			return "", errors.New("there is no shutdown request to answer")
		}
		if m.ending = *p.Approve; m.ending {
			return "I leave when I become idle. " + p.Reason, nil
		}
		return "I stay. " + p.Reason, nil
	}
	return "", fmt.Errorf("unknown message type %q: %s can send shutdown_request; a teammate can send shutdown_response with approve", p.Type, leadName)
}
