package hook

import "encoding/json"

// specific decodes hookSpecificOutput.
func (a *outputReader) specific(path string, raw json.RawMessage) {
	var fields map[string]json.RawMessage
	if !a.into(path, raw, &fields, "an object") {
		return
	}
	var name string
	switch event, ok := fields["hookEventName"]; {
	case !ok:
		a.notice("%s has no hookEventName and is treated as %s", path, a.event)
	case !a.into(path+".hookEventName", event, &name, "the name of an event"):
	case name != string(a.event) && (a.dialect == dialectClaude || name != a.event.Spelled(dialectSeed)):
		a.fail("%s.hookEventName is %q, but the event is %s", path, name, a.event)
	}
	o := a.out
	a.read(path, fields, map[string]fieldDecoder{
		"hookEventName":            func(string, json.RawMessage) {},
		"additionalContext":        a.text(&o.Context),
		"permissionDecision":       a.permission,
		"permissionDecisionReason": a.text(&o.PermissionReason),
		"updatedInput":             a.object(&o.Input),
		"decision":                 a.decide,
		"retry":                    a.flag(&o.Retry),
		"updatedToolOutput":        a.anyJSON(&o.ToolOutput),
		"updatedMCPToolOutput":     a.mcpOutput(fields),
		"sessionTitle":             a.text(&o.SessionTitle),
		"suppressOriginalPrompt":   a.flag(&o.HidePrompt),
		"initialUserMessage":       a.text(&o.InitialMessage),
		"watchPaths":               a.texts(&o.WatchPaths),
		"worktreePath":             a.text(&o.WorktreePath),
		"action":                   a.stringField(&o.Action, elicitActions...),
		"content":                  a.object(&o.Content),
		"classifierContext":        a.unused("there is no classifier"),
		"reloadSkills":             a.unused("skills cannot be reloaded by hooks"),
	})
}

// mcpOutput decodes updatedMCPToolOutput, the older name of updatedToolOutput.
func (a *outputReader) mcpOutput(fields map[string]json.RawMessage) fieldDecoder {
	if _, both := fields["updatedToolOutput"]; both {
		return a.unused("updatedToolOutput is also set")
	}
	return a.anyJSON(&a.out.ToolOutput)
}

func (a *outputReader) unused(why string) fieldDecoder {
	return func(path string, _ json.RawMessage) { a.notice("%s has no effect: %s", path, why) }
}

// decide decodes the decision of PermissionRequest: {"behavior": "allow", "updatedInput",
// "updatedPermissions"} or {"behavior": "deny", "message", "interrupt"}.
func (a *outputReader) decide(path string, raw json.RawMessage) {
	var fields map[string]json.RawMessage
	if !a.into(path, raw, &fields, "an object") {
		return
	}
	var behavior string
	known := map[string]fieldDecoder{"behavior": a.stringField(&behavior, "allow", "deny")}
	o := a.out
	specific := map[string]map[string]fieldDecoder{
		"allow": {"updatedInput": a.object(&o.Input), "updatedPermissions": a.updates},
		"deny":  {"message": a.text(&o.PermissionReason), "interrupt": a.flag(&o.Interrupt)},
	}
	if a.stringField(&behavior, "allow", decisionDeny)(path+".behavior", orNull(fields["behavior"])); refuses(fields["behavior"]) {
		behavior = decisionDeny
	}
	if behavior == "" {
		return
	}
	for of, takers := range specific {
		for name, take := range takers {
			if known[name] = take; of != behavior {
				known[name] = a.unused("it cannot be combined with " + behavior)
			}
		}
	}
	a.read(path, fields, known)
	a.permit(behavior)
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage(`""`)
	}
	return raw
}
