// Package jsontree reads JSON strictly: into a tree whose values know their places in the
// text, so that an error can point at one, or from there into Go values.
//
//	{"deny": ["Bash", 5]}
//	││       ││       └ 18  a number
//	││       │└ 10  a text
//	││       └ 9  a list
//	│└ 1  a key
//	└ 0  an object
//
//	root, err := jsontree.Parse(source)
//	err = jsontree.Decode(source, &v)
//
// It is for texts that people write: a duplicate key is an error, and so is half a
// character. What a value means is not its business.
package jsontree

import (
	"cmp"
	"fmt"
)

// Node is a value with its place in the source.
type Node struct {
	Kind    Kind
	At, End int      // offsets in bytes: of its first byte, and behind its last
	Text    string   // what a text says, the others as they are written; "" of an object and a list
	Members []Member // of an object, in order
	Items   []Node   // of a list
}

// Member is one key of an object with its value.
type Member struct {
	Key   string
	At    int // offset of the key
	Value Node
}

// Kind is what stands somewhere, in words.
type Kind string

// The kinds of values.
const (
	Object Kind = "an object"
	List   Kind = "a list"
	Text   Kind = "a text"
	Number Kind = "a number"
	Bool   Kind = "true or false"
	Null   Kind = "null"
)

// Show is the value as an error says it: itself, or the kind when it may be long.
func (n *Node) Show() string {
	switch n.Kind {
	case Text:
		return fmt.Sprintf("%.60q", n.Text)
	case Number, Bool, Null:
		return n.Text
	}
	return string(n.Kind)
}

// Member returns the value of a member, or nil when there is none.
func (n *Node) Member(key string) *Node {
	for i := range n.Members {
		if n.Members[i].Key == key {
			return &n.Members[i].Value
		}
	}
	return nil
}

// Field returns the value of a member, or the node itself when there is none.
func (n *Node) Field(key string) *Node {
	return cmp.Or(n.Member(key), n)
}
