package tool

import "io/fs"

// Image is the state of a file right before a call changes it; see [Call].Save.
type Image struct {
	Path    string      // absolute, without links
	Existed bool        // false means that the file does not exist yet, and that the other fields are empty
	Mode    fs.FileMode // its permission bits
	Size    int64
	Digest  string // SHA-256 of its content in hexadecimal
	Data    []byte // its content; nil if it is too large for memory; must not be changed, and not be kept after Save
	After   string // the digest of the new content
	Folders int    // number of folders that must be created above it
}
