package wire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/spelling"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// rule limits the values of a field, in addition to its type.
type rule struct {
	enum     []string // of a string: the allowed values
	bytes    int      // maximum size of a string, or of each string in a list
	nonEmpty bool     // a string, or each string in a list, must not be empty
	plain    bool     // no control characters
	id       bool     // a session id
	min      int64    // of a number: minimum
	max      int64    // maximum of a number; 0 is no limit
	items    int      // maximum number of entries in a list
	budget   bool     // a number is a limit in US dollars: -1 removes it
	images   bool     // a list has images
}

// check returns the problem that a value has, or "".
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
	case r.nonEmpty && s == "":
		return "must not be empty"
	case r.bytes > 0 && len(s) > r.bytes:
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(s), r.bytes)
	case r.plain && strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "contains a control character"
	case r.id:
		return sessionIDProblem(s)
	}
	return ""
}

// sessionIDProblem returns why s is not a valid run id, or "".
func sessionIDProblem(s string) string {
	err := session.CheckID(s)
	if err == nil {
		return ""
	}
	if e, ok := err.(*session.Error); ok { //nolint:errorlint // CheckID returns nothing else
		return "is not a valid run id: " + e.Detail
	}
	return "is not a valid run id: " + err.Error()
}

func (r *rule) number(s string) string {
	if r.budget {
		return budgetProblem(s)
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

func budgetProblem(s string) string {
	if usd, err := strconv.ParseFloat(s, 64); err != nil || usd < 0 && usd != -1 {
		return fmt.Sprintf("must be at least 0, or -1 for no limit, not %.60s", s)
	}
	return ""
}

func (r *rule) list(items []jsontree.Node) string {
	if len(items) > r.items {
		return fmt.Sprintf("has %d entries, at most %d are allowed", len(items), r.items)
	}
	for i := range items {
		n := &items[i]
		if r.images { // see member
			continue
		}
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
	nameRule  = rule{bytes: maxPath, nonEmpty: true, plain: true}
	textRule  = rule{bytes: MaxText}
	imageRule = rule{items: inputimage.MaxCount, images: true}
	globsRule = rule{items: MaxGlobs, bytes: maxPath, nonEmpty: true, plain: true}
)

// rules are for fields that are the same in all messages.
var rules = map[string]rule{
	"requestId":           {bytes: MaxRequestID},
	"runId":               {id: true},
	"permissionRequestId": {bytes: 256, nonEmpty: true},
	"inputRequestId":      {bytes: 256, nonEmpty: true},
	"agentName":           {bytes: 256, nonEmpty: true},
	"input":               textRule,
	"text":                textRule,
	"strategyPath":        nameRule,
	"manifestPath":        nameRule,
	"cwd":                 nameRule,
	"workspace":           nameRule,
	"modelOverride":       nameRule,
	"mode":                {enum: names(policy.Modes())},
	"maxBudgetUsd":        {budget: true},
	"tool":                nameRule,
	"images":              imageRule,
	"token":               nameRule,
	"client":              {bytes: 256, plain: true},
	"protocol":            {max: Protocol},
	"decision":            {enum: names(decisions())},
	"scope":               {bytes: maxPath},
	"always":              {enum: []string{layernames.Local, layernames.Project, layernames.User}},
	"message":             {bytes: 64 << 10},
	"digest":              {bytes: 256},
	"allow":               globsRule,
	"deny":                globsRule,
	"default":             {enum: []string{"allow", "deny", "ask"}},
	"status":              {enum: names(statuses())},
	"limit":               {min: 1, max: 500},
	"cursor":              {bytes: maxPath},
}

// Protocol is the protocol version of this package.
const Protocol = 1

// decisions lists the decisions of a permission_decision.
func decisions() []approval.Decision {
	return []approval.Decision{approval.Allow, approval.Deny, approval.AllowSession, approval.DenySession}
}

// statuses lists the statuses of a run.
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

// request describes one client message: its type, its Go type, the rules of fields whose rules are
// different in other messages, and a check of the fields together.
type request struct {
	name  string
	of    Request
	rules map[string]rule
	check func(Request) string
}

// requests are the client messages.
var requests = []request{
	{name: "hello", of: &Hello{}},
	{name: "ping", of: &Ping{}},
	{name: "prepare_run", of: &PrepareRun{}, check: checkPrepare},
	{name: "start_run", of: &StartRun{}},
	{name: "continue_run", of: &ContinueRun{}},
	{name: "stop_run", of: &StopRun{}},
	{name: "user_input", of: &UserInput{}},
	{name: "steer_run", of: &SteerRun{}, rules: map[string]rule{"text": {bytes: MaxText, nonEmpty: true}}},
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
		return "one of runId, strategyPath and strategy is required"
	case p.StrategyPath != "" && p.Strategy != nil:
		return "strategyPath and strategy cannot be used together"
	case p.Workspace != "" && p.Cwd != "":
		return "workspace and cwd cannot be used together"
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
		return "scope: only for allow-session and deny-session"
	case d.Always != "" && !decision.Session():
		return "always: only for allow-session and deny-session"
	case d.Stop && decision.Allows():
		return "stop: only for deny and deny-session"
	case d.Input != nil && decision != approval.Allow:
		return "input: only for allow"
	}
	return ""
}

func checkUpdate(r Request) string {
	if u, ok := r.(*UpdatePolicy); ok && len(u.Allow)+len(u.Deny) == 0 && u.Default == "" {
		return "one of allow, deny and default is required"
	}
	return ""
}
