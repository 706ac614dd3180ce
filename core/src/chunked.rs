//! A list that grows without copying what it has: chunks of rows that stay where they are.
//!
//! A table of all pods grows while pods are scheduled. A `Vec` that doubles copies every row several
//! times on the way and holds up to twice what it needs; this holds less than a chunk too much.

use std::ops::{Index, IndexMut};

/// Rows of a chunk: a power of two, and enough to make the table of chunks small.
const CHUNK_ROWS: usize = 1024;

/// A list in chunks.
#[derive(Clone, Debug)]
pub(crate) struct Chunked<T> {
    /// All but the last are full.
    chunks: Vec<Vec<T>>,
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Chunked { chunks: Vec::new() }
    }
}

impl<T> Chunked<T> {
    /// Rows.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self.chunks.last() {
            Some(last) => (self.chunks.len() - 1) * CHUNK_ROWS + last.len(),
            None => 0,
        }
    }

    /// Appends a row.
    #[inline]
    pub(crate) fn push(&mut self, row: T) {
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK_ROWS => last.push(row),
            _ => self.begin_chunk(row),
        }
    }

    #[cold]
    fn begin_chunk(&mut self, row: T) {
        debug_assert!(
            self.chunks.iter().all(|chunk| chunk.len() == CHUNK_ROWS),
            "all chunks but the last are full"
        );
        let mut chunk = Vec::with_capacity(CHUNK_ROWS);
        chunk.push(row);
        self.chunks.push(chunk);
    }

    /// A row that may not be there.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at / CHUNK_ROWS)?.get(at % CHUNK_ROWS)
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.chunks.len() * CHUNK_ROWS * size_of::<T>() + self.chunks.capacity() * size_of::<Vec<T>>()
    }
}

impl<T> Index<usize> for Chunked<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: usize) -> &T {
        &self.chunks[at / CHUNK_ROWS][at % CHUNK_ROWS]
    }
}

impl<T> IndexMut<usize> for Chunked<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        &mut self.chunks[at / CHUNK_ROWS][at % CHUNK_ROWS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_at_their_pushed_index() {
        let mut list = Chunked::default();
        for row in 0..3 * CHUNK_ROWS + 1 {
            assert_eq!(list.len(), row);
            assert_eq!(list.get(row), None);
            list.push(row);
        }
        list[CHUNK_ROWS] = 7;
        let edges = [0, CHUNK_ROWS - 1, CHUNK_ROWS, 2 * CHUNK_ROWS, 3 * CHUNK_ROWS];
        assert_eq!(edges.map(|at| list[at]), [0, CHUNK_ROWS - 1, 7, 2 * CHUNK_ROWS, 3 * CHUNK_ROWS]);
        assert_eq!(list.get(5), Some(&5));
        let spare = list.memory_bytes() / size_of::<usize>() - list.len();
        assert!(spare < 2 * CHUNK_ROWS, "{spare} rows too many");
    }
}
