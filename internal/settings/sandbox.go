package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// sandboxBlock reads a sandbox block, in the Open Agent SDK's form or in Claude Code's, and
// compiles it, so that an error can name the position of a setting that cannot work. A block that
// is not enabled must be valid, but has no effect.
func (s *parsedSource) sandboxBlock(path string, n jsontree.Node) {
	if !s.want(path, n, jsontree.Object) {
		return
	}
	box := &sandbox.Settings{}
	if err := s.decodeSandbox(path, n, box); err != nil {
		s.sandboxFault(path, n, err)
		return
	}
	if box.Network != nil && box.Network.AllowManagedDomainsOnly && s.layer != layernames.Managed {
		s.fault(find(&n, "network.allowManagedDomainsOnly"), "remove it; an administrator can set it in "+DefaultManaged,
			"%s.network.allowManagedDomainsOnly: only managed settings can set this", path)
		return
	}
	b := &Sandbox{Origin: s.origin(n, ""), Dir: s.dir, Settings: box, Untrusted: s.untrusted || s.isForeignOutsideProject()}
	for _, field := range box.Loosens() {
		at := jsontree.Node{At: find(&n, field)}
		b.loosens = append(b.loosens, Ignored{Setting: path + "." + field, Origin: s.origin(at, field)})
	}
	if s.program != "" && b.Untrusted {
		box.Network = onlyDenies(box.Network)
	}
	var err error
	b.checker, err = sandbox.NewChecker(box, &sandbox.Options{Home: s.user, Dir: s.dir, Origin: b.Origin, Trusted: !b.Untrusted})
	if err != nil {
		s.sandboxFault(path, n, err)
		return
	}
	if box.Enabled != nil && !*box.Enabled {
		line, col := s.position(find(&n, "enabled"))
		s.problems = append(s.problems, Problem{
			Layer: s.layer, File: s.file, Line: line, Col: col, Detail: path + ".enabled is false, so the block has no effect",
			Hint: "remove the block, or write true",
		})
		return
	}
	s.sandbox = b
}

// decodeSandbox reads a block. In a file of another program, a field that cannot be used here is
// removed and reported, unless it denies something.
func (s *parsedSource) decodeSandbox(path string, n jsontree.Node, box *sandbox.Settings) error {
	block := json.RawMessage(s.data[n.At:n.End])
	for {
		err := box.Decode(block)
		e, ok := errors.AsType[*sandbox.Error](err)
		if s.program == "" || !ok || e.Field == "" || strings.Contains(strings.ToLower(e.Field), "den") {
			return err
		}
		root, took := members(block)
		if took != nil {
			return err
		}
		field, _, _ := strings.Cut(e.Field, "[")
		names := strings.Split(field, ".")
		if root, took = removeMember(root, names); took != nil {
			return err
		}
		why := strings.TrimPrefix(e.Error(), e.Field+": ")
		s.noEffect(path+"."+field, find(&n, field), why)
		block, *box = joined(root), sandbox.Settings{}
	}
}

// removeMember removes the member at a path of keys.
func removeMember(list []member, path []string) ([]member, error) {
	if len(path) == 1 {
		shorter := put(slices.Clone(list), path[0], nil)
		if len(shorter) == len(list) {
			return nil, fmt.Errorf("there is no %s", path[0])
		}
		return shorter, nil
	}
	inner, err := object(list, path[0])
	if err != nil {
		return nil, err
	}
	if inner, err = removeMember(inner, path[1:]); err != nil {
		return nil, err
	}
	return put(list, path[0], joined(inner)), nil
}

// onlyDenies returns the restrictions of another program's network block: only its denied domains.
// Its allowed domains are not a restriction for Holdfast.
func onlyDenies(n *sandbox.Network) *sandbox.Network {
	if n == nil || len(n.DeniedDomains) == 0 {
		return nil
	}
	return &sandbox.Network{AllowedDomains: []string{"*"}, DeniedDomains: n.DeniedDomains}
}

// Checker returns the compiled block.
func (b *Sandbox) Checker() *sandbox.Checker { return b.checker }

// Checkers returns the compiled sandbox blocks of all layers, the strongest first.
func (s *Settings) Checkers() []*sandbox.Checker {
	list := make([]*sandbox.Checker, len(s.Sandboxes))
	for i := range s.Sandboxes {
		list[i] = s.Sandboxes[i].checker
	}
	return list
}

// sandboxFault reports an error of package sandbox at its position: at its offset, or at the field that it names.
func (s *parsedSource) sandboxFault(path string, n jsontree.Node, err error) {
	e, ok := errors.AsType[*sandbox.Error](err)
	if !ok {
		s.fault(n.At, "", "%s: %v", path, err)
		return
	}
	at := n.At + e.Offset
	if e.Offset == 0 {
		at = find(&n, e.Field)
	}
	s.fault(at, e.Hint(), "%s.%v", path, err)
}

// find returns the offset of the value of a dotted field, such as "network.allowedDomains" or
// "deniedPaths[1]". If there is no such value, it returns the offset of the deepest part that
// exists.
func find(n *jsontree.Node, field string) int {
	name, rest, _ := strings.Cut(field, ".")
	name, index, inList := strings.Cut(name, "[")
	for _, m := range n.Members {
		if m.Key != name {
			continue
		}
		v := &m.Value
		if i, ok := number(strings.TrimSuffix(index, "]")); inList && ok && i < len(v.Items) {
			return v.Items[i].At
		}
		if rest != "" && v.Kind == jsontree.Object {
			return find(v, rest)
		}
		return v.At
	}
	return n.At
}

func number(s string) (n int, ok bool) {
	for _, c := range s {
		if c < '0' || c > '9' || n > 1<<20 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, s != ""
}
