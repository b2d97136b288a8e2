package tool

import (
	"fmt"
	"slices"
)

// Registry holds the tools of a session by name. It never changes after it was
// made, so it is safe for concurrent use; [Registry.Select] and [Registry.Exclude]
// make smaller ones. A tool that is not in the registry cannot be run through it.
type Registry struct {
	tools  []Tool
	byName map[string]Tool
	other  func(name string) (Tool, bool)
}

// NewRegistry makes a registry of tools, which keep their order. Two tools of
// one name are an error.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{byName: make(map[string]Tool, len(tools))}
	for _, t := range tools {
		name := t.Spec().Name
		if _, taken := r.byName[name]; taken {
			return nil, fmt.Errorf("duplicate tool name %q", name)
		}
		r.byName[name] = t
		r.tools = append(r.tools, t)
	}
	return r, nil
}

// Lookup finds a tool by its exact name.
func (r *Registry) Lookup(name string) (Tool, bool) {
	if r == nil {
		return nil, false
	}
	t, ok := r.byName[name]
	if !ok && r.other != nil {
		return r.other(name)
	}
	return t, ok
}

// WithFallback returns a registry that has the tools of this one, and asks find for any other
// name. What find has is not offered to a model, which knows it from elsewhere; find
// must be safe for concurrent use, and be right about names that nobody meant.
func (r *Registry) WithFallback(find func(name string) (Tool, bool)) *Registry {
	out := r.filter(func(string) bool { return true })
	out.other = find
	return out
}

// Tools returns the tools in their order.
func (r *Registry) Tools() []Tool {
	if r == nil {
		return nil
	}
	return slices.Clone(r.tools)
}

// Specs describes the tools in their order, which is the same every time: a
// model's prompt cache depends on it.
func (r *Registry) Specs() []Spec {
	specs := make([]Spec, 0, len(r.Tools()))
	for _, t := range r.Tools() {
		specs = append(specs, t.Spec())
	}
	return specs
}

// Select returns a registry with just the named tools, in this registry's order.
// Names it does not have are ignored: they allow nothing.
func (r *Registry) Select(names ...string) *Registry {
	return r.filter(func(name string) bool { return slices.Contains(names, name) })
}

// Exclude returns a registry that lacks the named tools.
func (r *Registry) Exclude(names ...string) *Registry {
	return r.filter(func(name string) bool { return !slices.Contains(names, name) })
}

func (r *Registry) filter(keep func(name string) bool) *Registry {
	out := &Registry{byName: map[string]Tool{}}
	for _, t := range r.Tools() {
		if name := t.Spec().Name; keep(name) {
			out.byName[name] = t
			out.tools = append(out.tools, t)
		}
	}
	return out
}
