package image

// Start is for tests that use package testimage, which uses this package.
var Start = start
