/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tracepoints of the core: commands and events (R6.1). Off, they cost nothing.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM frnic

#if !defined(_FRNIC_TRACE_H_) || defined(TRACE_HEADER_MULTI_READ)
#define _FRNIC_TRACE_H_

#include <linux/pci.h>
#include <linux/tracepoint.h>

TRACE_EVENT(frnic_cmd,
	    TP_PROTO(struct pci_dev *pdev, u8 opcode, u32 object, u8 status,
		     u32 detail, u32 device_ns, int err),
	    TP_ARGS(pdev, opcode, object, status, detail, device_ns, err),
	    TP_STRUCT__entry(__field(u16, bdf)
			     __field(u8, opcode)
			     __field(u8, status)
			     __field(u32, object)
			     __field(u32, detail)
			     __field(u32, device_ns)
			     __field(int, err)),
	    TP_fast_assign(__entry->bdf = pci_dev_id(pdev);
			   __entry->opcode = opcode;
			   __entry->status = status;
			   __entry->object = object;
			   __entry->detail = detail;
			   __entry->device_ns = device_ns;
			   __entry->err = err;),
	    TP_printk("%02x:%02x.%x opcode 0x%02x object 0x%x status 0x%02x detail 0x%x device %u ns err %d",
		      PCI_BUS_NUM(__entry->bdf), PCI_SLOT(__entry->bdf),
		      PCI_FUNC(__entry->bdf), __entry->opcode, __entry->object,
		      __entry->status, __entry->detail, __entry->device_ns,
		      __entry->err)
);

TRACE_EVENT(frnic_eqe,
	    TP_PROTO(struct pci_dev *pdev, u32 eqn, u8 type, u8 subtype, u32 number,
		     u32 data),
	    TP_ARGS(pdev, eqn, type, subtype, number, data),
	    TP_STRUCT__entry(__field(u16, bdf)
			     __field(u32, eqn)
			     __field(u8, type)
			     __field(u8, subtype)
			     __field(u32, number)
			     __field(u32, data)),
	    TP_fast_assign(__entry->bdf = pci_dev_id(pdev);
			   __entry->eqn = eqn;
			   __entry->type = type;
			   __entry->subtype = subtype;
			   __entry->number = number;
			   __entry->data = data;),
	    TP_printk("%02x:%02x.%x eq %u type 0x%02x.%02x number 0x%x data 0x%x",
		      PCI_BUS_NUM(__entry->bdf), PCI_SLOT(__entry->bdf),
		      PCI_FUNC(__entry->bdf), __entry->eqn, __entry->type,
		      __entry->subtype, __entry->number, __entry->data)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE frnic_trace
#include <trace/define_trace.h>
