package hook

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxTimeout is the longest time that may be given: more is a mistaken unit.
const maxTimeout = 24 * time.Hour

// group reads one entry of Claude's form: {"matcher", "hooks"}.
func (d *decoding) group(path string, event Event, n *node) {
	var matcher string
	var handlers *node
	known := map[string]reader{
		"matcher": d.text(&matcher),
		"hooks":   func(_ string, n *node) { handlers = n },
	}
	if n.kind == '{' && n.field("hooks") == n && n.field("command") != n {
		info, _ := event.Info()
		hint := `write {"hooks": [{"type": "command", "command": ...}]}`
		if info.Seed != "" {
			hint += ", or " + info.Seed + " for the flat form"
		}
		d.wrong(path, n.at, hint, `a command stands here, not a list of "hooks"`)
		return
	}
	ok := d.object(path, n, known)
	if handlers == nil {
		if ok {
			d.wrong(path, n.at, `write {"hooks": [{"type": "command", "command": ...}]}`, `"hooks" is missing`)
		}
		return
	}
	if _, err := compileMatcher(Claude, event, matcher); err != nil {
		d.place(err, path+".matcher", n.field("matcher").at)
		ok = false
	}
	list, is := d.list(path+".hooks", handlers)
	if !is {
		return
	}
	for i := range list {
		sub := fmt.Sprintf("%s.hooks[%d]", path, i)
		if def, good := d.handler(sub, event, &list[i]); ok && good {
			def.Matcher = matcher
			d.add(sub, &list[i], def)
		}
	}
}

// types of Claude Code that are not here, and why.
var absentTypes = map[string]string{
	"mcp_tool": "there are no MCP servers yet",
	"prompt":   "no model is asked by hooks",
	"agent":    "no agent is started by hooks",
}

// handler reads {"type", …}.
func (d *decoding) handler(path string, event Event, n *node) (Definition, bool) {
	def := Definition{Event: event, Dialect: Claude}
	if n.kind != '{' {
		d.expected(path, n, "an object", `write {"type": "command", "command": ...}`)
		return def, false
	}
	kind := n.field("type")
	why, absent := absentTypes[kind.text]
	switch {
	case kind == n:
		d.wrong(path, n.at, `write "type": "command"`, `"type" is missing`)
		return def, false
	case absent && kind.kind == '"':
		d.wrong(path+".type", kind.at, `write a "command" that does it, or take the hook out`, "hooks of type %q are not run: %s", kind.text, why)
		return def, false
	case kind.kind != '"' || kind.text != TypeCommand && kind.text != TypeHTTP:
		d.wrong(path+".type", kind.at, `write "command" or "http"`, "there is no type %s", kind.show())
		return def, false
	}
	var shell, rewake string
	common := map[string]reader{
		"type":           func(string, *node) {},
		"if":             d.needed(&def.If),
		"timeout":        d.seconds(&def.Timeout),
		"statusMessage":  d.text(&def.Status),
		"once":           d.flag(&def.Once),
		"onFailure":      word(d, &def.OnFailure, FailBlock, FailContinue),
		"allowedEnvVars": d.texts(&def.Env, checkVariable),
	}
	command := map[string]reader{
		"command":     d.needed(&def.Command),
		"args":        d.texts(&def.Args, func(string) (string, string) { return "", "" }),
		"shell":       d.shell(&shell),
		"async":       d.flag(&def.Async),
		"asyncRewake": d.rewake(&rewake),
		"sandbox":     word(d, &def.Access, AccessRead, AccessWrite, AccessOff),
	}
	http := map[string]reader{
		"url":     d.url(&def.URL),
		"headers": d.headers(&def.Headers),
	}
	own, other, must := command, http, "command"
	if kind.text == TypeHTTP {
		own, other, must = http, command, "url"
	}
	known := maps.Clone(common)
	maps.Copy(known, own)
	for name := range other {
		known[name] = func(path string, n *node) {
			d.wrong(path, n.at, "take it out", "it has no meaning for hooks of type %q", kind.text)
		}
	}
	ok := d.object(path, n, known)
	if m := n.field(must); m == n || m.kind == 'n' {
		d.wrong(path, n.at, "", "%q is missing", must)
		return def, false
	}
	return def, d.fits(path, n, &def) && ok
}

// fits checks what the fields of a handler mean together and for its event.
func (d *decoding) fits(path string, n *node, def *Definition) bool {
	before := len(d.errs)
	if def.URL != "" && (def.Event == SessionStart || def.Event == Setup) {
		d.wrong(path+".type", n.field("type").at, `write a "command"`, "%s runs commands only", def.Event)
	}
	if def.If != "" && !isToolEvent(def.Event) {
		d.wrong(path+".if", n.field("if").at, `take "if" out`, "%s is not about a tool: the hook would never run", def.Event)
	}
	if def.OnFailure != "" {
		switch {
		case def.Async:
			d.wrong(path+".onFailure", n.field("onFailure").at, "take one of them out", `nobody waits for an "async" hook: its failure changes nothing`)
		case slices.Contains([]Event{Stop, SubagentStop, TaskCompleted, TeammateIdle}, def.Event):
			d.wrong(path+".onFailure", n.field("onFailure").at, "take it out", "it is never heeded on %s", def.Event)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(def.Headers)) {
		for v := range headerVariables(def.Headers[name]) {
			if !slices.Contains(def.Env, v) {
				d.wrong(path+".headers."+name, n.field("headers").field(name).at, `name it in "allowedEnvVars"`, "$%s would be empty", v)
			}
		}
	}
	return len(d.errs) == before
}

func isToolEvent(e Event) bool {
	info, _ := e.Info()
	return info.Matches == "tool_name"
}

func (d *decoding) seconds(into *time.Duration) reader {
	return func(path string, n *node) {
		s, err := strconv.ParseFloat(n.text, 64)
		switch {
		case n.kind != '0':
			d.expected(path, n, "a number of seconds", "")
		case err != nil || s > maxTimeout.Seconds():
			d.wrong(path, n.at, "it is in seconds, at most 86400", "%s is too long", n.text)
		case s < 1e-3:
			d.wrong(path, n.at, "it is in seconds, at least 0.001", "%s is too short", n.text)
		default:
			*into = time.Duration(s * float64(time.Second)).Round(time.Microsecond)
		}
	}
}

func (d *decoding) shell(into *string) reader {
	return func(path string, n *node) {
		if n.kind == '"' && n.text == "powershell" {
			d.wrong(path, n.at, `write it for bash, or start powershell with "args"`, "powershell is not run")
			return
		}
		word(d, into, "bash")(path, n)
	}
}

func (d *decoding) rewake(into *string) reader {
	return func(path string, n *node) {
		var on bool
		if d.flag(&on)(path, n); on {
			*into = n.text
			d.wrong(path, n.at, `write "async": true: its answer is read with the next turn`, "an agent that has stopped is not woken by a hook")
		}
	}
}

func checkVariable(name string) (what, hint string) {
	switch {
	case !isVariable(name):
		return fmt.Sprintf("%q is no name of a variable", name), "write the name alone, without $"
	case strings.HasPrefix(name, "OTEL_"):
		return name + " is never passed on", "take it out"
	}
	return "", ""
}

func isVariable(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
