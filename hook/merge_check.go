package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// effectSet is a set of effects that an event supports.
type effectSet uint32

const (
	canBlock effectSet = 1 << iota
	canPermit
	canInput
	canOutput
	canAddContext
	canStop
	canInterrupt
	canRetry
	canSetTitle
	canSetInitialMessage
	canWatch
	canWorktree
	canHidePrompt
	canAnswer
)

// effects lists the name of each effect and a function that reports whether an output has it.
var effects = []struct {
	can   effectSet
	name  string
	wants func(*Output) bool
}{
	{canBlock, "a block", (*Output).blocks},
	{canPermit, "a permission", func(o *Output) bool { return o.Permission != "" }},
	{canInput, "a new input", func(o *Output) bool { return o.Input != nil }},
	{canOutput, "a new result", func(o *Output) bool { return o.ToolOutput != nil }},
	{canAddContext, "a text for the model", func(o *Output) bool { return o.Context != "" || o.SystemMessage != "" }},
	{canStop, "an end of the turn", func(o *Output) bool { return o.Stop }},
	{canInterrupt, "an interrupt", func(o *Output) bool { return o.Interrupt }},
	{canRetry, "a retry", func(o *Output) bool { return o.Retry }},
	{canSetTitle, "a session title", func(o *Output) bool { return o.SessionTitle != "" }},
	{canSetInitialMessage, "a first message", func(o *Output) bool { return o.InitialMessage != "" }},
	{canWatch, "paths to watch", func(o *Output) bool { return len(o.WatchPaths) > 0 }},
	{canWorktree, "a worktree", func(o *Output) bool { return o.WorktreePath != "" }},
	{canHidePrompt, "a hidden prompt", func(o *Output) bool { return o.HidePrompt }},
	{canAnswer, "an answer to an MCP server", func(o *Output) bool { return o.Action != "" || o.Content != nil }},
}

// eventEffects returns the effects that an event supports. Every event supports texts for the user,
// notifications, policy changes and terminal sequences.
func eventEffects(info eventInfo) effectSet {
	can := canAddContext | canStop
	if info.Blocks || info.Guards {
		can |= canBlock
	}
	switch info.Event {
	case PreToolUse:
		can |= canPermit | canInput
	case PermissionRequest:
		can |= canPermit | canInput | canInterrupt
	case PostToolUse:
		can |= canOutput
	case PermissionDenied:
		can |= canRetry
	case UserPromptSubmit:
		can |= canSetTitle | canHidePrompt
	case UserPromptExpansion:
		can |= canHidePrompt
	case SessionStart:
		can |= canSetTitle | canSetInitialMessage | canWatch
	case CwdChanged, FileChanged:
		can |= canWatch
	case WorktreeCreate:
		can |= canWorktree
	case Elicitation, ElicitationResult:
		can |= canAnswer
		can &^= canAddContext
	case InstructionsLoaded:
		can &^= canAddContext
	case SessionEnd:
		can &^= canAddContext | canStop
	case StopFailure:
		can &^= canStop
	}
	return can
}

// noticeUnusable reports results of a hook that its event does not support.
func (f *fireState) noticeUnusable(e *entry, out *Output) {
	can := eventEffects(e.info)
	var vain []string
	for _, x := range effects {
		if can&x.can == 0 && x.wants(out) {
			vain = append(vain, x.name)
		}
	}
	if len(vain) > 0 {
		f.notice(e, fmt.Sprintf("its result is ignored: %[2]s does not support %[1]s", list(vain), e.Event)+reasonText(out))
	}
	p := out.permission()
	switch {
	case e.Event != PermissionRequest:
	case p == "ask" || p == "defer":
		f.notice(e, fmt.Sprintf("its permission %q is ignored: a permission request can only be allowed or denied", p))
	case out.Input != nil && p != "allow":
		f.notice(e, "its new input is ignored: it did not allow the call")
	case out.Interrupt && p != "deny":
		f.notice(e, "its interrupt is ignored: it did not deny the call")
	}
}

// reasonText returns ": " and the reason of a block that has no effect, or "".
func reasonText(out *Output) string {
	if out.blocks() && out.Reason != "" {
		return ": " + out.Reason
	}
	return ""
}

func list(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

func (o *Output) blocks() bool { return o.Block || o.Decision == "block" }

// permission returns the output's permission, in either spelling.
func (o *Output) permission() string {
	if o.Permission == "" && o.Decision == "approve" && !o.Block {
		return "allow"
	}
	return o.Permission
}

// isEmpty reports whether an output is nil or empty.
func (o *Output) isEmpty() bool { return o == nil || reflect.ValueOf(o).Elem().IsZero() }

// check rejects an output with unknown values.
func (o *Output) check() error {
	if o == nil {
		return nil
	}
	switch o.Decision {
	case "", "approve", "block":
	default:
		return fmt.Errorf("unknown decision %q; want approve or block", o.Decision)
	}
	if o.Permission != "" && strength(o.Permission) < 0 {
		return fmt.Errorf("unknown permissionDecision %q; want allow, deny, ask or defer", o.Permission)
	}
	switch {
	case o.Action != "" && !slices.Contains(elicitActions, o.Action):
		return fmt.Errorf("unknown action %q; want accept, decline or cancel", o.Action)
	case o.Content != nil && o.Action != actionAccept:
		return errors.New("content needs the action accept")
	case o.Content != nil && !jsonscan.IsObject(o.Content):
		return errors.New("the content is not a JSON object")
	}
	if o.Input != nil && !jsonscan.IsObject(o.Input) {
		return errors.New("the new input is not a JSON object")
	}
	if o.ToolOutput != nil && !json.Valid(o.ToolOutput) {
		return errors.New("the new result is not JSON")
	}
	for i := range o.Updates {
		if err := o.Updates[i].check(); err != nil {
			return err
		}
	}
	return nil
}

func (u *PermissionUpdate) check() error {
	switch {
	case u.Mode != "" && (len(u.Rules) > 0 || u.Behavior != ""):
		return errors.New("a policy change must have rules or a mode, not both")
	case u.Mode != "":
		return nil
	case len(u.Rules) == 0:
		return errors.New("a policy change has neither rules nor a mode")
	case u.Behavior != "allow" && u.Behavior != "deny":
		return fmt.Errorf("unknown behavior %q of a policy change; want allow or deny", u.Behavior)
	}
	return nil
}
