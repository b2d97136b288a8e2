package wire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/spelling"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// rule says which values a field may have, besides what its type says.
type rule struct {
	enum  []string // of a text: nothing else
	bytes int      // of a text, or of each text of a list: at most
	some  bool     // a text, or each text of a list, is not empty
	plain bool     // no control characters
	id    bool     // of a session
	min   int64    // of a number
	max   int64    // of a number; 0 is any
	items int      // of a list: at most
	bound bool     // a number is a bound in US dollars: -1 lifts it
}

// check says what is wrong with a value, or "".
func (r *rule) check(n *jsontree.Node) string {
	switch n.Kind {
	case jsontree.Text:
		return r.text(n.Text)
	case jsontree.Number:
		return r.number(n.Text)
	case jsontree.List:
		return r.list(n.Items)
	case jsontree.Object, jsontree.Bool, jsontree.Null:
	}
	return ""
}

func (r *rule) text(s string) string {
	switch {
	case r.enum != nil && !slices.Contains(r.enum, s):
		what := fmt.Sprintf("must be one of %s, not %.60q", strings.Join(r.enum, ", "), s)
		if near := spelling.Nearest(s, r.enum); near != "" {
			what += fmt.Sprintf(", did you mean %q?", near)
		}
		return what
	case r.some && s == "":
		return "must not be empty"
	case r.bytes > 0 && len(s) > r.bytes:
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(s), r.bytes)
	case r.plain && strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "holds a control character"
	case r.id:
		return sessionID(s)
	}
	return ""
}

// sessionID says why s cannot name a run, or "".
func sessionID(s string) string {
	err := session.CheckID(s)
	if err == nil {
		return ""
	}
	if e, ok := err.(*session.Error); ok { //nolint:errorlint // CheckID returns nothing else
		return "cannot name a run: " + e.Detail
	}
	return "cannot name a run: " + err.Error()
}

func (r *rule) number(s string) string {
	if r.bound {
		return bound(s)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil:
		return fmt.Sprintf("must be a whole number, not %.60s", s)
	case n < r.min:
		return fmt.Sprintf("must be at least %d, not %d", r.min, n)
	case r.max > 0 && n > r.max:
		return fmt.Sprintf("must be at most %d, not %d", r.max, n)
	}
	return ""
}

func bound(s string) string {
	if usd, err := strconv.ParseFloat(s, 64); err != nil || usd < 0 && usd != -1 {
		return fmt.Sprintf("must not be negative, but for -1, which lifts the bound, and not %.60s", s)
	}
	return ""
}

func (r *rule) list(items []jsontree.Node) string {
	if len(items) > r.items {
		return fmt.Sprintf("has %d entries, at most %d are allowed", len(items), r.items)
	}
	for i := range items {
		n := &items[i]
		if n.Kind != jsontree.Text {
			return fmt.Sprintf("entry %d must be %s, not %s", i+1, jsontree.Text, n.Show())
		}
		if what := r.text(n.Text); what != "" {
			return fmt.Sprintf("entry %d %s", i+1, what)
		}
	}
	return ""
}

const maxPath = 4096 // bytes of a path, a glob, a rule, a name

var (
	aName = rule{bytes: maxPath, some: true, plain: true}
	aText = rule{bytes: MaxText}
	globs = rule{items: MaxGlobs, bytes: maxPath, some: true, plain: true}
)

// rules are those of fields that are the same in all messages.
var rules = map[string]rule{
	"requestId":           {bytes: MaxRequestID},
	"runId":               {id: true},
	"permissionRequestId": {bytes: 256, some: true},
	"inputRequestId":      {bytes: 256, some: true},
	"agentName":           {bytes: 256, some: true},
	"input":               aText,
	"text":                aText,
	"strategyPath":        aName,
	"manifestPath":        aName,
	"cwd":                 aName,
	"workspace":           aName,
	"modelOverride":       aName,
	"mode":                {enum: names(policy.Modes())},
	"maxBudgetUsd":        {bound: true},
	"tool":                aName,
	"token":               aName,
	"client":              {bytes: 256, plain: true},
	"protocol":            {max: Protocol},
	"decision":            {enum: names(decisions())},
	"scope":               {bytes: maxPath},
	"always":              {enum: []string{layernames.Local, layernames.Project, layernames.User}},
	"message":             {bytes: 64 << 10},
	"digest":              {bytes: 256},
	"allow":               globs,
	"deny":                globs,
	"default":             {enum: []string{"allow", "deny", "ask"}},
	"status":              {enum: names(statuses())},
	"limit":               {min: 1, max: 500},
	"cursor":              {bytes: maxPath},
}

// Protocol is the version of the protocol that this package speaks.
const Protocol = 1

// decisions lists what a permission_decision can decide.
func decisions() []approval.Decision {
	return []approval.Decision{approval.Allow, approval.Deny, approval.AllowSession, approval.DenySession}
}

// statuses lists where a run can stand.
func statuses() []api.RunStatus {
	return []api.RunStatus{
		api.StatusPending, api.StatusRunning, api.StatusWaiting, api.StatusCompleted, api.StatusFailed, api.StatusCancelled, api.StatusInterrupted,
	}
}

func names[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// request is one message of clients: its name, its Go type, the rules of fields that
// differ from those of other messages, and what its fields must be together.
type request struct {
	name  string
	of    Request
	rules map[string]rule
	check func(Request) string
}

// requests are the messages of clients.
var requests = []request{
	{name: "hello", of: &Hello{}},
	{name: "ping", of: &Ping{}},
	{name: "prepare_run", of: &PrepareRun{}, check: checkPrepare},
	{name: "start_run", of: &StartRun{}},
	{name: "continue_run", of: &ContinueRun{}},
	{name: "stop_run", of: &StopRun{}},
	{name: "user_input", of: &UserInput{}},
	{name: "steer_run", of: &SteerRun{}, rules: map[string]rule{"text": {bytes: MaxText, some: true}}},
	{name: "permission_decision", of: &PermissionDecision{}, check: checkDecision},
	{name: "update_policy", of: &UpdatePolicy{}, rules: map[string]rule{"mode": {enum: []string{"read", "write"}}}, check: checkUpdate},
	{name: "set_mode", of: &SetMode{}},
	{name: "subscribe", of: &Subscribe{}},
	{name: "unsubscribe", of: &Unsubscribe{}},
	{name: "list_runs", of: &ListRuns{}},
	{name: "list_strategies", of: &ListStrategies{}},
}

var requestTypes = func() []string {
	list := make([]string, len(requests))
	for i := range requests {
		list[i] = requests[i].name
	}
	return list
}()

func checkPrepare(r Request) string {
	p, ok := r.(*PrepareRun)
	switch {
	case !ok:
	case p.RunID == "" && p.StrategyPath == "" && p.Strategy == nil:
		return "runId or strategyPath is needed, or strategy"
	case p.StrategyPath != "" && p.Strategy != nil:
		return "strategyPath and strategy cannot both be given"
	case p.Workspace != "" && p.Cwd != "":
		return "workspace and cwd cannot both be given"
	}
	return ""
}

func checkDecision(r Request) string {
	d, ok := r.(*PermissionDecision)
	decision := approval.Decision("")
	if ok {
		decision = approval.Decision(d.Decision)
	}
	switch {
	case !ok:
	case d.Scope != "" && !decision.Session():
		return "scope: only allow-session and deny-session have one"
	case d.Always != "" && !decision.Session():
		return "always: only allow-session and deny-session have it"
	case d.Stop && decision.Allows():
		return "stop: only deny and deny-session have it"
	case d.Input != nil && decision != approval.Allow:
		return "input: only allow has one"
	}
	return ""
}

func checkUpdate(r Request) string {
	if u, ok := r.(*UpdatePolicy); ok && len(u.Allow)+len(u.Deny) == 0 && u.Default == "" {
		return "allow, deny or default is needed"
	}
	return ""
}
