package settings

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/hook"
)

// trustedBefore returns the hook as it was trusted, possibly with another text; nil if it never was.
func (m *merger) trustedBefore(h *Hook) *TrustedHook {
	known, this := m.trust.hooks(m.out.Project), trustedHook(&h.Definition)
	i := slices.IndexFunc(known, func(t TrustedHook) bool { return t.same(this) })
	if i < 0 {
		return nil
	}
	return &known[i]
}

// findRemovedHooks finds trusted hooks that are gone. If the folder has an untrusted hook for the same
// event, that hook is considered the replacement. A changed hook that would block on failure
// blocks, so a guard cannot be disabled by replacing its text.
func (m *merger) findRemovedHooks() {
	strict := m.out.StrictHooks.Value
	for i := range m.out.Hooks {
		h := &m.out.Hooks[i]
		if t := m.trustedBefore(h); t != nil && h.Status == HookModified {
			h.Blocks = t.Blocks || h.Definition.CanBlock(strict)
		}
	}
	for _, t := range m.trust.hooks(m.out.Project) {
		here := func(h Hook) bool {
			this := trustedHook(&h.Definition)
			return isFolderLayer(h.Origin.Layer) && (h.Status == HookDisabled || t.Digest == h.Digest || t.same(this))
		}
		if slices.ContainsFunc(m.out.Hooks, here) {
			continue
		}
		i := slices.IndexFunc(m.out.Hooks, func(h Hook) bool { return h.Status == HookUntrusted && string(h.Event) == t.Event })
		if i < 0 {
			if hook.Event(t.Event).Guards() && !m.out.NoHooks.Value && m.out.ManagedHooksOnly == nil {
				m.out.removedHooks = append(m.out.removedHooks, t)
			}
			continue
		}
		h := &m.out.Hooks[i]
		h.Status, h.Reason = HookModified, "it replaces a trusted hook: "+t.Name
		h.Blocks, h.everything = t.Blocks || h.Definition.CanBlock(strict), t.Matcher != h.Matcher
	}
}

// blockingHook returns a hook that blocks everything that the changed hook would have seen. It does
// not have the changed hook's condition, because the condition may be what changed.
func (s *Settings) blockingHook(h *Hook) hook.Definition {
	d := hook.Definition{
		Event: h.Event, Dialect: h.Dialect, Matcher: h.Matcher, Name: HookName(&h.Definition), Origin: h.Origin, Digest: h.Digest,
	}
	if h.everything {
		d.Matcher = ""
	}
	reason := fmt.Sprintf("the hook %s has changed since it was trusted, so it does not run and the calls it guards are blocked; hint: review it, then run: holdfast trust --hooks-only %s",
		short(d.Name), quote(s.Project))
	d.Func = func(context.Context, hook.Input) (*hook.Output, error) {
		return &hook.Output{Block: true, Reason: reason}, nil
	}
	return d
}
