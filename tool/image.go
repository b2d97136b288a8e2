package tool

import "io/fs"

// Image is what a file is right before a call changes it; see [Call].Save.
type Image struct {
	Path    string      // absolute, without links
	Existed bool        // false: there is no file yet, and the rest says nothing
	Mode    fs.FileMode // its permission bits
	Size    int64
	Digest  string // SHA-256 of its content in hexadecimal
	Data    []byte // its content; nil: it is too large to be held. Not changed, and not kept after Save
	After   string // the digest of what it is to become
	Folders int    // how many folders are to be made above it
}
