// Package jsontree strictly parses JSON. The result is a tree whose values contain their positions
// in the text, so that an error can refer to the position. It can also decode the tree into Go
// values.
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
// It is for texts that people write. Duplicate keys, and one half of a surrogate pair without the
// other, are errors. It does not interpret values.
package jsontree

import (
	"cmp"
	"fmt"
)

// Node is a value with its position in the source.
type Node struct {
	Kind    Kind
	At, End int      // byte offset of its first byte, and byte offset after its last byte
	Text    string   // the decoded text; other values as they are written; "" for an object and a list
	Members []Member // of an object, in their order in the text
	Items   []Node   // of a list
}

// Member is one key of an object with its value.
type Member struct {
	Key   string
	At    int // offset of the key
	Value Node
}

// Kind is the kind of a value, by the name that errors use.
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

// Show returns the value in the form for error messages: its text, or its kind if the text may be
// long.
func (n *Node) Show() string {
	switch n.Kind {
	case Text:
		return fmt.Sprintf("%.60q", n.Text)
	case Number, Bool, Null:
		return n.Text
	}
	return string(n.Kind)
}

// Member returns the value of a member; nil if there is none.
func (n *Node) Member(key string) *Node {
	for i := range n.Members {
		if n.Members[i].Key == key {
			return &n.Members[i].Value
		}
	}
	return nil
}

// Field returns the value of a member, or the node itself if there is none.
func (n *Node) Field(key string) *Node {
	return cmp.Or(n.Member(key), n)
}
