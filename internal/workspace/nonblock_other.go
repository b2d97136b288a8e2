//go:build !unix

package workspace

// nonBlock is for what only Unix has.
const nonBlock = 0
