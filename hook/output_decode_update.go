package hook

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/policy"
)

// updates decodes a list of changes in Claude Code's form.
func (a *outputReader) updates(path string, raw json.RawMessage) {
	var list []json.RawMessage
	if !a.into(path, raw, &list, "a list") {
		return
	}
	for i, item := range list {
		a.update(fmt.Sprintf("%s[%d]", path, i), item)
	}
}

// updateText is a policy change in either form; see [PermissionUpdate].
type updateText struct {
	Tool     string `json:"tool"`
	Type     string `json:"type"`
	Behavior string `json:"behavior"`
	Rules    []struct {
		Tool string `json:"toolName"`
		Text string `json:"ruleContent"`
	} `json:"rules"`
	Mode        string   `json:"mode"`
	Directories []string `json:"directories"`
	Destination string   `json:"destination"`
}

// update decodes one change. A change that cannot be made in this session is not applied but
// reported.
func (a *outputReader) update(path string, raw json.RawMessage) {
	var s updateText
	if !a.into(path, raw, &s, "a change of permissions") {
		return
	}
	up, why := s.update()
	if why != "" {
		a.notice("%s is not applied: %s", path, why)
		return
	}
	a.out.Updates = append(a.out.Updates, up)
}

// update returns the change, or the reason why it cannot be made.
func (s *updateText) update() (up PermissionUpdate, why string) {
	if s.Destination != "" && s.Destination != "session" {
		return up, fmt.Sprintf("a hook can change only this session, not %q", s.Destination)
	}
	switch s.Type {
	case "setMode":
		if policy.Mode(s.Mode).Check() != nil {
			return up, fmt.Sprintf("unknown mode %q", s.Mode)
		}
		return PermissionUpdate{Mode: s.Mode}, ""
	case "addRules":
		for _, r := range s.Rules {
			up.Rules = append(up.Rules, ruleText(r.Tool, r.Text))
		}
	case "":
		if s.Tool != "" {
			up.Rules = []string{s.Tool}
		}
	default:
		return up, fmt.Sprintf("a hook cannot make the change %q; it can use addRules and setMode", s.Type)
	}
	up.Behavior = s.Behavior
	switch {
	case len(up.Rules) == 0:
		return up, "it has no tool"
	case up.Behavior != "allow" && up.Behavior != "deny":
		return up, fmt.Sprintf("the behavior is %q, not allow or deny", up.Behavior)
	}
	return up, ""
}

// ruleText returns a rule as text. If a parenthesis is unpaired, all parentheses are escaped.
func ruleText(tool, text string) string {
	if text == "" {
		return tool
	}
	depth, open := 0, false
	for _, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
			open = open || depth < 0
		}
	}
	if open || depth != 0 {
		text = strings.NewReplacer(`\(`, `\(`, `\)`, `\)`, "(", `\(`, ")", `\)`).Replace(text)
	}
	return tool + "(" + text + ")"
}
