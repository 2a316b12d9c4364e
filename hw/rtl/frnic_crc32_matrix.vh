// SPDX-License-Identifier: BSD-2-Clause
//
// CRC-32 (Ethernet's, reflected) as constant matrices over GF(2), computed at elaboration. Include inside a module.
// A matrix is a vector of 32-bit columns: column j is what input bit j adds to the result.

// One bit of zeros through the register, and back.
function [31:0] frnic_crc32_step;
    input [31:0] c;
    begin
        frnic_crc32_step = (c >> 1) ^ (c[0] ? 32'hedb88320 : 32'h0);
    end
endfunction

function [31:0] frnic_crc32_unstep;
    input [31:0] c;
    begin
        // The polynomial has bit 31 set, so bit 31 tells whether it was added.
        frnic_crc32_unstep = c[31] ? (((c ^ 32'hedb88320) << 1) | 32'h1) : (c << 1);
    end
endfunction

// What each of 512 message bits adds to a register that starts at zero. The first 32 columns are also the matrix that moves a register
// over 512 bits: a register is the same as the first 32 message bits.
function [512*32-1:0] frnic_crc32_data;
    input [31:0] last; // column of the last bit: the polynomial
    integer i;
    reg [31:0] c;
    begin
        c = last;
        for (i = 511; i >= 0; i = i - 1) begin
            frnic_crc32_data[i*32 +: 32] = c;
            c = frnic_crc32_step(c);
        end
    end
endfunction

// Matrix that takes back a number of zero bytes. A unit vector is the one below it taken back by a bit, so the columns are one chain.
function [32*32-1:0] frnic_crc32_back;
    input integer bytes;
    integer i;
    reg [31:0] c;
    begin
        c = 32'h1;
        for (i = 0; i < 8 * bytes; i = i + 1) begin
            c = frnic_crc32_unstep(c);
        end
        for (i = 0; i < 32; i = i + 1) begin
            frnic_crc32_back[i*32 +: 32] = c;
            c = frnic_crc32_unstep(c);
        end
    end
endfunction

// Product with a 32-bit vector.
function [31:0] frnic_crc32_mul;
    input [32*32-1:0] m;
    input [31:0] v;
    integer i;
    begin
        frnic_crc32_mul = 32'h0;
        for (i = 0; i < 32; i = i + 1) begin
            frnic_crc32_mul = frnic_crc32_mul ^ (v[i] ? m[i*32 +: 32] : 32'h0);
        end
    end
endfunction

// Row r of the 512-column matrix: the message bits that take part in bit r of the register.
function [511:0] frnic_crc32_row;
    input [512*32-1:0] m;
    input integer r;
    integer i;
    begin
        for (i = 0; i < 512; i = i + 1) begin
            frnic_crc32_row[i] = m[i*32 + r];
        end
    end
endfunction
