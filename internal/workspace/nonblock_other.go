//go:build !unix

package workspace

// nonBlock is 0 on systems other than Unix.
const nonBlock = 0
