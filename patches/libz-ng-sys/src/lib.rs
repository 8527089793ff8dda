//! zlib-ng's names over the pure-Rust zlib, so that building the gateway needs no cmake.
//!
//! pingora asks flate2 for its zlib-ng backend, whose C build wants cmake, which a fresh machine does not have. flate2
//! uses a dozen functions of it; each is handed to `libz-rs-sys`. The gateway itself never compresses: HTTP bodies pass
//! uncompressed, so speed is of no concern here.
#![allow(non_camel_case_types, non_snake_case)]

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

pub use libz_rs_sys::{
    Z_BLOCK, Z_BUF_ERROR, Z_DATA_ERROR, Z_DEFAULT_STRATEGY, Z_DEFLATED, Z_FINISH, Z_FULL_FLUSH, Z_MEM_ERROR,
    Z_NEED_DICT, Z_NO_FLUSH, Z_OK, Z_PARTIAL_FLUSH, Z_STREAM_END, Z_STREAM_ERROR, Z_SYNC_FLUSH, zlibVersion,
};

pub type Bytef = u8;
pub type uInt = c_uint;
pub type voidpf = *mut c_void;
pub type alloc_func = unsafe extern "C" fn(voidpf, uInt, uInt) -> voidpf;
pub type free_func = unsafe extern "C" fn(voidpf, voidpf);
pub enum internal_state {}

/// flate2 fills in the allocator as plain function pointers where zlib-rs has optional ones: the same layout, as the
/// assertions below hold.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct z_stream {
    pub next_in: *mut Bytef,
    pub avail_in: uInt,
    pub total_in: c_ulong,
    pub next_out: *mut Bytef,
    pub avail_out: uInt,
    pub total_out: c_ulong,
    pub msg: *mut c_char,
    pub state: *mut internal_state,
    pub zalloc: alloc_func,
    pub zfree: free_func,
    pub opaque: voidpf,
    pub data_type: c_int,
    pub adler: c_ulong,
    pub reserved: c_ulong,
}

const _: () = {
    use libz_rs_sys::z_stream as theirs;
    use std::mem::{align_of, offset_of, size_of};
    assert!(size_of::<z_stream>() == size_of::<theirs>());
    assert!(align_of::<z_stream>() == align_of::<theirs>());
    assert!(offset_of!(z_stream, next_in) == offset_of!(theirs, next_in));
    assert!(offset_of!(z_stream, total_in) == offset_of!(theirs, total_in));
    assert!(offset_of!(z_stream, next_out) == offset_of!(theirs, next_out));
    assert!(offset_of!(z_stream, total_out) == offset_of!(theirs, total_out));
    assert!(offset_of!(z_stream, zalloc) == offset_of!(theirs, zalloc));
    assert!(offset_of!(z_stream, opaque) == offset_of!(theirs, opaque));
    assert!(offset_of!(z_stream, adler) == offset_of!(theirs, adler));
};

macro_rules! forward {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        /// # Safety
        /// As zlib's function of this name: `strm` points to a stream that flate2 owns.
        pub unsafe fn $name(strm: *mut z_stream $(, $argument: $kind)*) -> c_int {
            // SAFETY: the two stream types have one layout, asserted above; the caller keeps zlib's contract.
            unsafe { libz_rs_sys::$name(strm.cast() $(, $argument)*) }
        }
    )*};
}

forward! {
    deflate(flush: c_int);
    deflateEnd();
    deflateReset();
    deflateParams(level: c_int, strategy: c_int);
    deflateSetDictionary(dictionary: *const Bytef, length: uInt);
    deflateInit2_(level: c_int, method: c_int, window_bits: c_int, mem_level: c_int, strategy: c_int, version: *const c_char, stream_size: c_int);
    inflate(flush: c_int);
    inflateEnd();
    inflateReset();
    inflateReset2(window_bits: c_int);
    inflateSetDictionary(dictionary: *const Bytef, length: uInt);
    inflateInit2_(window_bits: c_int, version: *const c_char, stream_size: c_int);
}
